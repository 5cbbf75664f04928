// One exception type for everything that goes wrong inside the library.
//
// Errors carry a code (what a C caller gets), a message (what happened, with names and numbers) and
// an advice (what the caller can do). C boundaries turn them into codes with one noexcept guard;
// nothing prints or exits.
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
  /// Where there is no memory for the text, the code stands alone.
  Error(Errc code, const char* message) noexcept;
  Error(Errc code, std::string message, std::string advice = {}) noexcept;

  Errc code() const noexcept { return code_; }
  const std::string& message() const noexcept;
  const std::string& advice() const noexcept;
  /// Message and advice in one line.
  const char* what() const noexcept override;
  /// This error in other words, of the same code and the same ranks; as it is where there is no
  /// memory for them.
  Error reworded(std::string message, std::string advice) const noexcept;
  /// Told with where it happened, in front of its message.
  Error at(const std::string& where) const noexcept;
  /// An error of one rank's own requests: it took part in all that ranks do together, and no other
  /// rank needs to know (comm/agree.h).
  bool is_own_matter() const noexcept { return own_matter_; }
  Error&& as_own_matter(bool own = true) && noexcept {
    own_matter_ = own;
    return std::move(*this);
  }
  /// Another rank's error, of which this one knows the code alone.
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

/// To be called while an exception is handled: that exception as an Error. Needs no memory to tell
/// of memory that ran out.
Error current_error() noexcept;

/// The code for a failed system call: ENOSPC is no_space, ENOENT is enoent, and so on; `fallback`
/// for the rest (eread, ewrite or efile, after what was tried).
Errc code_from_errno(int errnum, Errc fallback);

/// An Error for a failed system call on `path`, with the system's text and advice for the common
/// causes.
Error system_error(int errnum, Errc fallback, const std::string& doing, const std::string& path);

}  // namespace forebay
