// Steps whose failure is agreed on later.
#pragma once

#include <new>
#include <optional>

#include "base/error.h"

namespace forebay {

/// Calls f() and returns the Error it throws, if any.
template <typename F>
std::optional<Error> attempt_to(F&& f) {
  try {
    f();
    return std::nullopt;
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return Error(Errc::enomem, "out of memory");
  }
}

}  // namespace forebay
