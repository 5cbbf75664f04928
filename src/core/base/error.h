// Error is the one exception type for everything that goes wrong inside the library.
//
// An error carries a code (for a C caller), a message (what happened, with names and numbers) and
// an advice (what the caller can do). Each C boundary turns errors into codes with one noexcept
// guard. Nothing prints or exits.
#pragma once

#include <cerrno>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "base/errc.h"

namespace forebay {

/// Copies share their text, so that passing on an error needs no memory and never throws.
class Error : public std::exception {
 public:
  /// Needs no memory.
  explicit Error(Errc code) noexcept : code_(code) {}
  /// If there is no memory for the text, the error has its code alone.
  Error(Errc code, const char* message) noexcept;
  Error(Errc code, std::string message, std::string advice = {}) noexcept;

  Errc code() const noexcept { return code_; }
  const std::string& message() const noexcept;
  const std::string& advice() const noexcept;
  /// Returns message and advice in one line.
  const char* what() const noexcept override;
  /// Returns this error with other text, but the same code and flags. Returns it unchanged if there
  /// is no memory for the text.
  Error reworded(std::string message, std::string advice) const noexcept;
  /// Returns this error with `where` in front of its message.
  Error at(const std::string& where) const noexcept;
  /// Returns whether the error concerns this rank's own requests only. The rank took part in all
  /// collective steps, and no other rank needs to know the error (comm/agree.h).
  bool is_own_matter() const noexcept { return own_matter_; }
  Error&& as_own_matter(bool own = true) && noexcept {
    own_matter_ = own;
    return std::move(*this);
  }
  /// Returns whether this is another rank's error, of which this rank knows only the code.
  bool is_of_others() const noexcept { return of_others_; }
  Error&& as_of_others() && noexcept {
    of_others_ = true;
    return std::move(*this);
  }

 private:
  struct Text {
    std::string message, advice, both;
  };

  Errc code_;
  bool own_matter_ = false, of_others_ = false;
  std::shared_ptr<const Text> text_;
};

/// Returns the exception that is being handled as an Error. Call it in a handler only. It needs no
/// memory to report that memory ran out.
Error current_error() noexcept;

/// Returns the code for a failed system call: ENOSPC gives eno_space, ENOENT gives enoent, and so
/// on. Other errors give `fallback` (eread, ewrite or efile, depending on what was tried).
Errc code_from_errno(int errnum, Errc fallback);

/// Returns an Error for a failed system call on `path`, with the system's text, and advice for
/// common causes.
Error system_error(int errnum, Errc fallback, const std::string& doing, const std::string& path);

}  // namespace forebay
