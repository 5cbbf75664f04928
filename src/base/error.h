// One exception type for everything that goes wrong inside the library.
//
// Errors carry a code (what a C caller gets), a message (what happened, with names and numbers) and
// an advice (what the caller can do). C boundaries turn them into codes with one noexcept guard;
// nothing prints or exits.
#pragma once

#include <cerrno>
#include <exception>
#include <string>
#include <utility>

#include "base/errc.h"

namespace forebay {

class Error : public std::exception {
 public:
  explicit Error(Errc code, std::string message = {}, std::string advice = {})
      : code_(code), message_(std::move(message)), advice_(std::move(advice)) {
    text_ = advice_.empty() ? message_ : message_ + " (" + advice_ + ")";
  }

  Errc code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& advice() const noexcept { return advice_; }
  /// Message and advice in one line.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Errc code_;
  std::string message_, advice_, text_;
};

/// The code for a failed system call: ENOSPC is no_space, ENOENT is enoent, and so on; `fallback`
/// for the rest (eread, ewrite or efile, after what was tried).
Errc code_from_errno(int errnum, Errc fallback);

/// An Error for a failed system call on `path`, with the system's text and advice for the common
/// causes.
Error system_error(int errnum, Errc fallback, const std::string& doing, const std::string& path);

}  // namespace forebay
