// Notes: messages between ranks that plan together.
//
// A plan that no rank can make alone has a state on each rank and steps between them. Notes to a
// rank go into its state, and notes to other ranks come out. The plan does not know how notes are
// sent: by an exchange in a run (comm/exchange.h), by a loop over all ranks in a test. They may
// arrive in any order; the result is the same.
#pragma once

#include <vector>

#include "base/types.h"

namespace forebay {

template <typename T>
struct PlanMessage {
  Rank peer = 0;  ///< destination of an outgoing note, source of an incoming one
  T what{};       ///< trivially copyable, without padding
};

template <typename T>
using Notes = std::vector<PlanMessage<T>>;

}  // namespace forebay
