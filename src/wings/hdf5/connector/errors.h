// Errors of the connector on HDF5's error stack.
//
// A callback of the connector is a C function. Exceptions end in guarded(), which puts code,
// message and advice on the error stack under the error class "Forebay" and returns the failure
// value. The application sees them together with HDF5's own (printed by default, H5Ewalk,
// H5Eget_msg).
#pragma once

#include <hdf5.h>

#include <string>

#include "base/error.h"

namespace forebay::vol {

/// Thrown when a call below failed and has already put its reasons on the error stack.
struct UnderFailed {};

/// A place in the sources, for the error stack.
struct Where {
  const char* file;
  const char* function;
  unsigned line;
  static constexpr Where here(const char* file = __builtin_FILE(),
                              const char* function = __builtin_FUNCTION(),
                              unsigned line = __builtin_LINE()) noexcept {
    return {file, function, line};
  }
};

/// Registers the error class and its messages. It may be called again. The connector's initialize
/// calls it.
void register_error_class();

/// Returns the error class to the library; later errors register it again. The connector's
/// terminate calls it.
void release_error_class() noexcept;

/// Puts the exception that is being handled on the error stack. Call it only inside a catch block.
void push_current_exception(const Where& where) noexcept;

/// Keeps the error stack during clean-up, because most HDF5 functions clear it on entry. Costs one
/// query if the stack is empty.
class ErrorStackSaver {
 public:
  ErrorStackSaver() noexcept
      : saved_(H5Eget_num(H5E_DEFAULT) > 0 ? H5Eget_current_stack() : H5I_INVALID_HID) {}
  ~ErrorStackSaver() {
    if (saved_ >= 0) H5Eset_current_stack(saved_);  // closes it as well
  }
  ErrorStackSaver(const ErrorStackSaver&) = delete;
  ErrorStackSaver& operator=(const ErrorStackSaver&) = delete;

 private:
  hid_t saved_;
};

/// Silences errors of queries that the connector below may not support: nothing is printed, and
/// nothing stays on the stack.
class QuietErrors {
 public:
  QuietErrors() noexcept {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_), H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietErrors() {
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, function_, data_);
  }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Runs `body`; its errors name the file.
template <class Body>
auto naming(const std::string& path, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.message().find(path) != std::string::npos) throw;
    throw error.at(path);
  }
}

/// Runs `body` at the C boundary. Returns its result, or `failure` with the error on the stack.
template <class R, class Body>
R guarded(R failure, Body&& body, const Where& where = Where::here()) noexcept {
  try {
    return body();
  } catch (...) {
    push_current_exception(where);
    return failure;
  }
}

}  // namespace forebay::vol
