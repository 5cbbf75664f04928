// What went wrong in the last function of a C interface that failed, on this thread.
#pragma once

#include <string>
#include <type_traits>

#include "base/error.h"

namespace forebay {

/// The text that forebay_error_message() gives; "" if nothing failed on this thread.
const std::string& last_message() noexcept;

/// In a handler: the code of the exception in flight, whose text is kept.
int code_of_current_exception() noexcept;

inline std::string text_of(const char* text) { return text ? text : ""; }
/// Where an answer goes; Errc::einval for null.
template <typename T>
T& answer_at(T* place) {
  if (!place) throw Error(Errc::einval, "nowhere to put what was asked for", "give an address");
  return *place;
}

/// Runs the body of a C function. Exceptions become codes; a body may also return a code.
template <typename F>
int guard(F&& body) noexcept {
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
