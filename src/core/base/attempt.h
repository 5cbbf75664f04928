// These functions keep an error until ranks have agreed on it, or add the place where it happened.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace forebay {

/// Calls f() and returns what it throws, of any type. It is needed before every agreement, and
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

/// Keeps the first of several failures.
inline void keep_first(std::optional<Error>& kept, std::optional<Error> failed) {
  if (failed && !kept) kept = std::move(failed);
}

/// Calls f() and keeps what it throws. Returns whether f() succeeded. For a caller that must take
/// part in all steps, because others wait for it, and throws at the end.
template <typename F>
bool attempt_into(std::optional<Error>& kept, F&& f) noexcept {
  auto failed = attempt_to(f);
  const bool done = !failed;
  keep_first(kept, std::move(failed));
  return done;
}

/// Returns f(). If f() throws an Error, `where` (usually a path) is put in front of its message.
template <typename F>
auto naming(const std::string& where, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw error.at(where);
  }
}

}  // namespace forebay
