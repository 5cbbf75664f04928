// Leaving the core to others while a rank waits.
#pragma once

#include <sched.h>

#include <ctime>

namespace forebay {

/// Turns for which who gives way sleeps: below.
inline thread_local int crowded_turns = 0;

/// Local. For who looks again and again for something that another rank does. A yield costs a
/// microsecond between ranks that all wait, but beside those who compute Linux (6.18) has them use
/// up a time slice first, a millisecond or more each time. Where that has happened, sleeping for a
/// moment is quicker, and the next turns do so.
inline void give_way() {
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
