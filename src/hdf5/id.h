// Identifiers of HDF5 that close themselves, and what becomes of its failures: what the readers of
// files and the connector have in common. Each is built with an HDF5 of its own.
#pragma once

#include <hdf5.h>

#include <string_view>
#include <utility>

namespace forebay {

/// Owns one identifier of HDF5, of whatever kind.
class Hdf5Id {
 public:
  Hdf5Id() = default;
  explicit Hdf5Id(hid_t id) : id_(id) {}
  ~Hdf5Id() { reset(); }
  Hdf5Id(Hdf5Id&& other) noexcept : id_(other.release()) {}
  Hdf5Id& operator=(Hdf5Id&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = other.release();
    }
    return *this;
  }

  operator hid_t() const noexcept { return id_; }
  bool valid() const noexcept { return id_ >= 0; }
  /// Gives the identifier up: the caller closes it.
  hid_t release() noexcept { return std::exchange(id_, H5I_INVALID_HID); }
  void reset() noexcept {
    if (!valid()) return;
    const hid_t id = release();
    // A dataset goes even if a filter fails on what it has yet to write; else its file would stay.
    H5Iget_type(id) == H5I_DATASET ? H5Dclose(id) : H5Idec_ref(id);
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

/// Throws Errc::ehdferr, or another code that tells more, saying what failed. Each user defines it:
/// the connector (api/hdf5vol/errors.cc) leaves the reasons on HDF5's error stack, for the program;
/// elsewhere (files/hdf5/handle.cc) nobody looks there, so they come with the message.
[[noreturn]] void throw_hdf5(std::string_view what);

/// The result of a function of HDF5 that is negative on failure; throws then.
template <typename T>
T checked(T result, std::string_view what) {
  if (result < 0) throw_hdf5(what);
  return result;
}
/// The same, owned.
inline Hdf5Id owned(hid_t id, std::string_view what) { return Hdf5Id(checked(id, what)); }
inline Hdf5Id owned_space(hid_t id) { return owned(id, "making a dataspace"); }
inline Hdf5Id owned_type(hid_t id) { return owned(id, "making a datatype"); }
inline Hdf5Id owned_list(hid_t id) { return owned(id, "making a property list"); }

}  // namespace forebay
