// The one guard around each function of this C interface.
#pragma once

#include "base/last_message.h"

namespace forebay::groups {

/// 0, or the code of what `body` threw, whose words forebay_error_message() has then.
template <typename F>
int guard(F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    return code_of_current_exception();
  }
}

}  // namespace forebay::groups
