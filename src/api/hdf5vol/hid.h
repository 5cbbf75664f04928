// Identifiers of HDF5 that close themselves: spaces, types, property lists, iterators.
#pragma once

#include <hdf5.h>

#include <utility>

#include "base/error.h"

namespace forebay::vol {

class Hid {
 public:
  using Closer = herr_t (*)(hid_t);

  Hid() = default;
  /// Takes over `id`; Errc::ehdferr saying what failed where it is negative.
  Hid(hid_t id, Closer closer, const char* what) : id_(id), closer_(closer) {
    if (id < 0) throw Error(Errc::ehdferr, std::string("HDF5: ") + what + " failed");
  }
  Hid(Hid&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), closer_(other.closer_) {}
  Hid& operator=(Hid&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
      closer_ = other.closer_;
    }
    return *this;
  }
  ~Hid() { reset(); }

  void reset() noexcept {
    if (id_ >= 0) closer_(std::exchange(id_, H5I_INVALID_HID));
  }
  hid_t release() noexcept { return std::exchange(id_, H5I_INVALID_HID); }
  operator hid_t() const noexcept { return id_; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Closer closer_ = nullptr;
};

inline Hid owned_space(hid_t id, const char* what = "making a dataspace") {
  return {id, H5Sclose, what};
}
inline Hid owned_type(hid_t id, const char* what = "making a datatype") {
  return {id, H5Tclose, what};
}
inline Hid owned_list(hid_t id, const char* what = "making a property list") {
  return {id, H5Pclose, what};
}

/// Errc::ehdferr saying what failed where a function of HDF5 returned a negative value.
template <typename T>
T checked(T result, const char* what) {
  if (result < 0) throw Error(Errc::ehdferr, std::string("HDF5: ") + what + " failed");
  return result;
}

}  // namespace forebay::vol
