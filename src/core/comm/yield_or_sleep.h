// Yields the core to others while a rank waits.
#pragma once

#include <sched.h>

#include <ctime>

namespace forebay {

/// The number of next turns in which yield_or_sleep() sleeps instead of yielding.
inline thread_local int crowded_turns = 0;

/// Local. To be called in a loop that polls for what another rank does. A yield costs a microsecond
/// if all ranks wait. If some compute, Linux (6.18) lets them use up a time slice first, a
/// millisecond or more each time. Once that has happened, a short sleep is quicker, so the next
/// turns sleep.
inline void yield_or_sleep() {
  constexpr long long_yield = 300'000;  // ns
  constexpr int turns = 200;
  if (crowded_turns > 0) {
    --crowded_turns;
    const timespec a_moment{0, 20'000};
    ::nanosleep(&a_moment, nullptr);
    return;
  }
  timespec before{}, after{};
  ::clock_gettime(CLOCK_MONOTONIC, &before);
  ::sched_yield();
  ::clock_gettime(CLOCK_MONOTONIC, &after);
  const long took =
      (after.tv_sec - before.tv_sec) * 1'000'000'000L + after.tv_nsec - before.tv_nsec;
  if (took > long_yield) crowded_turns = turns;
}

}  // namespace forebay
