// What the HDF5 tests share: identifiers that release themselves, and errors as exceptions. The
// tests know HDF5 alone; which connector is under test is a matter of the environment.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace forebay_test {

// The first failure, since it was last taken, of a call that these tests make with right arguments
// on files that nobody damaged: reading, writing, opening, closing and listing. Empty if none.
std::string take_fault();
void note_fault(const std::string& what, const std::string& messages);

// All messages of HDF5's error stack, the outermost call first, on one line; empties the stack.
std::string take_errors();

// Throws std::runtime_error if `status`, a code or an identifier, is negative.
template <typename Status>
Status check(Status status, const std::string& what) {
  if (status < 0) {
    const std::string messages = take_errors();
    note_fault(what, messages);
    throw std::runtime_error(what + ": " + messages);
  }
  return status;
}

// Owns one identifier of HDF5.
class Id {
 public:
  Id() = default;
  Id(hid_t id, herr_t (*release)(hid_t), const std::string& what)
      : id_(check(id, what)), release_(release) {}
  ~Id() { reset(); }
  Id(Id&& other) noexcept { *this = std::move(other); }
  Id& operator=(Id&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
      release_ = other.release_;
    }
    return *this;
  }
  operator hid_t() const { return id_; }  // the C interface takes identifiers by value
  void reset() {
    if (id_ >= 0) release_(id_);
    id_ = H5I_INVALID_HID;
  }
  // Like reset(), but a failure counts.
  void close(const std::string& what) {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    if (id >= 0) check(release_(id), what);
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  herr_t (*release_)(hid_t) = nullptr;
};

// A copy of a datatype, a dataspace, a property list; the extent of a dataspace.
Id copy_type(hid_t type);
Id copy_space(hid_t space);
Id make_list(hid_t list_class);
Id simple_space(const std::vector<hsize_t>& dims, const hsize_t* most = nullptr);
std::vector<hsize_t> extent_of(hid_t space);

// Opens any object by its path, with H5Oclose to release it.
Id open_object(hid_t location, const std::string& path);

}  // namespace forebay_test
