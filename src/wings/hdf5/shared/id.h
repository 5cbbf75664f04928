// HDF5 identifiers that close themselves, and errors of HDF5. Shared by the file readers and the
// connector, which are each built with their own HDF5.
#pragma once

#include <hdf5.h>

#include <string>
#include <string_view>
#include <utility>

namespace forebay {

/// Owns an HDF5 identifier of any kind.
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
  /// Gives up the identifier. The caller must close it.
  hid_t release() noexcept { return std::exchange(id_, H5I_INVALID_HID); }
  void reset() noexcept {
    if (!valid()) return;
    const hid_t id = release();
    // H5Dclose frees a dataset even if a filter fails on unwritten data. Else its file would stay
    // open.
    H5Iget_type(id) == H5I_DATASET ? H5Dclose(id) : H5Idec_ref(id);
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

/// Throws Errc::ehdferr, or a more precise code, with what failed. Each user defines it. The
/// connector (hdf5/connector/errors.cc) leaves the reasons on HDF5's error stack for the program.
/// Elsewhere (hdf5/files/handle.cc) they are part of the message.
[[noreturn]] void throw_hdf5(std::string_view what);

/// Returns the result of an HDF5 function. Throws if it is negative, which means failure.
template <typename T>
T checked(T result, std::string_view what) {
  if (result < 0) throw_hdf5(what);
  return result;
}
/// The same, for an identifier to own.
inline Hdf5Id owned(hid_t id, std::string_view what) { return Hdf5Id(checked(id, what)); }
inline Hdf5Id owned_space(hid_t id) { return owned(id, "making a dataspace"); }
inline Hdf5Id owned_type(hid_t id) { return owned(id, "making a datatype"); }
inline Hdf5Id owned_list(hid_t id) { return owned(id, "making a property list"); }

/// Returns a text. ask(to, size) returns its length, and stores as much of it as fits, with a NUL.
/// It returns a negative number if it fails.
template <typename Ask>
std::string hdf5_text(Ask&& ask, std::string_view what) {
  char* const nowhere = nullptr;
  const auto length = static_cast<std::size_t>(checked(ask(nowhere, std::size_t{0}), what));
  std::string text(length + 1, '\0');
  checked(ask(text.data(), text.size()), what);
  text.resize(length);
  return text;
}

/// Returns the innermost message on HDF5's error stack.
inline std::string innermost_error() {
  std::string text;
  const auto keep_first = [](unsigned n, const H5E_error2_t* error, void* kept) -> herr_t {
    if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(kept) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  return text;
}

}  // namespace forebay
