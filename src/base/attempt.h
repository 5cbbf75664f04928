// Steps whose failure is agreed on later.
#pragma once

#include <optional>

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

}  // namespace forebay
