#pragma once

// What all workloads on HDF5 share: identifiers that release themselves, errors as exceptions, and
// property lists with the settings that favour parallel HDF5.

#include <hdf5.h>
#include <mpi.h>

#include <stdexcept>
#include <string>

namespace forebay::bench {

/// Throws std::runtime_error with `what` and the message at the bottom of HDF5's error stack.
[[noreturn]] void hdf5_failed(const std::string& what);

/// Returns `status`, which may be an identifier, too; throws as hdf5_failed() if it is negative.
template <typename Status>
Status hdf5_check(Status status, const std::string& what) {
  if (status < 0) hdf5_failed(what);
  return status;
}

/// Owns one HDF5 identifier.
class Hdf5Id {
 public:
  Hdf5Id(hid_t id, herr_t (*release)(hid_t), const std::string& what)
      : id_(hdf5_check(id, what)), release_(release) {}
  ~Hdf5Id() { reset(); }
  Hdf5Id(Hdf5Id&& other) noexcept : id_(other.id_), release_(other.release_) { other.id_ = -1; }
  Hdf5Id& operator=(Hdf5Id&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = other.id_;
      release_ = other.release_;
      other.id_ = -1;
    }
    return *this;
  }
  operator hid_t() const { return id_; }  // the C interface takes identifiers by value
  void reset() {
    if (id_ >= 0) release_(id_);
    id_ = -1;
  }
  /// Like reset(), but a failure counts. Collective where the release is, as of files.
  void close(const char* what) {
    const hid_t id = id_;
    id_ = -1;
    hdf5_check(release_(id), what);
  }

 private:
  hid_t id_;
  herr_t (*release_)(hid_t);
};

/// File access by the ranks of `comm`: collective metadata, the latest format of the file. Where
/// transfers are `independent`, reads of metadata are, too: each looks up the chunks that it needs.
Hdf5Id hdf5_access(MPI_Comm comm, MPI_Info info, bool independent);
/// Transfer of data by all ranks together, or by each for itself.
Hdf5Id hdf5_transfer(bool independent);
/// Creates or opens a file; messages of HDF5 no longer go to the standard error stream. Collective.
Hdf5Id hdf5_create_file(const std::string& path, MPI_Comm comm, MPI_Info info, bool independent);
Hdf5Id hdf5_open_file(const std::string& path, MPI_Comm comm, MPI_Info info, bool independent);

}  // namespace forebay::bench
