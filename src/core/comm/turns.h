// Lets ranks do something one after another, a few at a time.
#pragma once

#include <algorithm>
#include <optional>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/comm.h"

namespace forebay {

/// Collective, with equal `at_a_time` >= 1. Calls f() on the ranks in order, on `at_a_time` at
/// once; the next ones begin when these are done. If f() throws on one rank, all throw after the
/// last turn. f() makes no collective call. Costs one reduction a turn.
template <typename F>
void in_turns(const Comm& comm, int at_a_time, F&& f) {
  std::optional<Error> failed;
  for (int first = 0; first < comm.size(); first += std::min(at_a_time, comm.size() - first)) {
    if (comm.rank() >= first && comm.rank() - first < at_a_time) failed = attempt_to(f);
    comm.barrier();
  }
  agree_on_error(comm, failed);
}

}  // namespace forebay
