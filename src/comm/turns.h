// Ranks that do something one after another, a few at a time.
#pragma once

#include <algorithm>
#include <optional>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/comm.h"

namespace forebay {

/// Collective, with equal `at_a_time`, at least 1. Calls f() on the ranks in their order, on so
/// many at a time: the next ones begin when these are done. Throws on all ranks if it throws on
/// one, behind the last turn. f() makes no collective call. One meeting a turn.
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
