// Steps whose failure is agreed on later, or told with where it happened.
#pragma once

#include <optional>
#include <string>
#include <utility>

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

/// Of several failures the first is told.
inline void keep_first(std::optional<Error>& kept, std::optional<Error> failed) {
  if (failed && !kept) kept = std::move(failed);
}

/// Calls f(), keeping what it throws; whether it threw nothing. For who has to go on through all
/// steps, as others wait for it there, and throws in the end.
template <typename F>
bool attempt_into(std::optional<Error>& kept, F&& f) noexcept {
  auto failed = attempt_to(f);
  const bool done = !failed;
  keep_first(kept, std::move(failed));
  return done;
}

/// Returns f(). What it throws begins with `where` then: the path of a file, as a rule.
template <typename F>
auto naming(const std::string& where, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw error.at(where);
  }
}

}  // namespace forebay
