// Errors of the connector on HDF5's error stack.
//
// A callback of the connector is a C function: exceptions end in guarded(), which puts code,
// message and advice on the error stack under the error class "Forebay" and returns the failure
// value. The application sees them where it sees HDF5's own (printed by default, H5Ewalk,
// H5Eget_msg).
#pragma once

#include <hdf5.h>

#include <exception>
#include <string>

#include "base/error.h"

namespace forebay::vol {

/// Thrown when a call below failed and has put its reasons on the error stack: nothing to add.
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

/// Registers the error class and its messages; safe to call again. Called by the connector's
/// initialize.
void register_error_class();

/// Gives the error class back to the library; later errors register it anew. By the connector's
/// terminate.
void release_error_class() noexcept;

/// Puts the exception that is being handled on the error stack. Only inside a catch block.
void push_current_exception(const Where& where) noexcept;

/// Keeps the error stack over clean-up: most functions of HDF5's interface clear it when they are
/// entered. Costs one query when the stack is empty.
class ErrorStackSaver {
 public:
  ErrorStackSaver() noexcept
      : saved_(H5Eget_num(H5E_DEFAULT) > 0 ? H5Eget_current_stack() : H5I_INVALID_HID) {}
  ~ErrorStackSaver() {
    if (saved_ >= 0) H5Eset_current_stack(saved_);  // which closes it as well
  }
  ErrorStackSaver(const ErrorStackSaver&) = delete;
  ErrorStackSaver& operator=(const ErrorStackSaver&) = delete;

 private:
  hid_t saved_;
};

/// For asking the connector below what it may not know: nothing is printed, nothing stays on the
/// stack.
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

/// Runs `body`, whose errors then name the file.
template <class Body>
auto naming(const std::string& path, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.message().find(path) != std::string::npos) throw;
    throw error.at(path);
  }
}

/// Runs `body` at the C boundary: its result, or `failure` with the error on the stack.
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
