// The one guard around each function of this C interface, and what its files share.
#pragma once

#include <string>

#include "base/last_message.h"
#include "comm/comm.h"

namespace forebay::checkpoint {

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

/// Collective. Opens checkpoints, and gives them a number.
void open_store(const Comm& comm, const char* name, const char* hints, int* number);

}  // namespace forebay::checkpoint
