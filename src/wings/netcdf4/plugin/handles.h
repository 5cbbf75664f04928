// HDF5's identifiers and errors in the plug-in.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

#include "array/type.h"
#include "base/error.h"

namespace forebay::netcdf4 {

/// Owns an identifier of any kind but a file's.
class Id {
 public:
  Id() = default;
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Id& operator=(Id&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  /// Throws an error with HDF5's reason if `id` is none. `what` says what was tried.
  Id(hid_t id, const std::string& what);
  ~Id() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  operator hid_t() const noexcept { return id_; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

/// Throws Errc::ehdferr, with HDF5's reason.
[[noreturn]] void throw_hdf5(const std::string& what);

template <typename T>
T checked(T result, const std::string& what) {
  if (result < 0) throw_hdf5(what);
  return result;
}

/// While it lives no other thread of the plug-in uses HDF5, which may not be safe for threads, and
/// HDF5 prints no errors.
class InHdf5 {
 public:
  InHdf5() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~InHdf5() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  InHdf5(const InHdf5&) = delete;
  InHdf5& operator=(const InHdf5&) = delete;

 private:
  static std::mutex& mutex() {
    static auto* const one = new std::mutex;  // files may be closed when the program ends
    return *one;
  }
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// Returns a numeric type of HDF5, which it owns.
hid_t number_type(Type type, bool little_endian);
/// Returns the type for text of so many bytes.
Id text_type(std::size_t bytes);

}  // namespace forebay::netcdf4
