// Steps whose failure is agreed on later, or told with where it happened.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace forebay {

/// Calls f() and returns what it throws, whatever that is. To stand before every agreement, and
/// around every step that other ranks or threads wait for.
template <typename F>
std::optional<Error> attempt_to(F&& f) noexcept {
  try {
    f();
    return std::nullopt;
  } catch (...) {
    return current_error();
  }
}

/// Returns f(). What it throws begins with `where` then: the path of a file, as a rule.
template <typename F>
auto naming(const std::string& where, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Error(error.code(), where + ": " + error.message(), error.advice())
        .as_own_matter(error.is_own_matter());
  }
}

}  // namespace forebay
