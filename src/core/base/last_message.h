// The message of the last function of a C interface that failed on this thread.
#pragma once

#include <string>
#include <type_traits>

#include "base/error.h"
#include "base/running_calls.h"

namespace forebay {

/// Returns the text that forebay_error_message() gives; "" if nothing failed on this thread.
const std::string& last_message() noexcept;

/// Returns the code of the exception that is being handled, and keeps its text. Call in a handler.
int code_of_current_exception() noexcept;

inline std::string text_of(const char* text) { return text ? text : ""; }
/// Returns *place, where an answer goes. Throws Errc::einval if `place` is null.
template <typename T>
T& answer_at(T* place) {
  if (!place) throw Error(Errc::einval, "nowhere to put what was asked for", "give an address");
  return *place;
}

/// Runs the body of a C function. Exceptions become codes; the body may also return a code.
template <typename F>
int guard(F&& body) noexcept {
  const RunningCall call;
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return 0;
    } else {
      return body();
    }
  } catch (...) {
    return code_of_current_exception();
  }
}

}  // namespace forebay
