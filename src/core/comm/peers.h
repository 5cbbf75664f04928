// The other ranks of a node, as processes. They let a rank sleep in shared memory until one of them
// wakes it.
//
// When a rank dies, most launchers of MPI end the job, but not every one in every setting. Nobody
// then wakes the ranks that sleep on a word that the dead rank should have changed. So sleepers
// check every second whether the others live, and end the job (MPI_Abort) if one does not. No error
// could be returned on all ranks, because no collective call could complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/comm.h"

namespace forebay {

class Peers {
 public:
  /// Collective over `node`, which outlives this object.
  explicit Peers(const Comm& node);
  /// Local. Sleeps while `word` is `seen`, until woken or for about a second. The caller checks
  /// whether it must sleep again. Does not return if another rank has died.
  void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen);
  /// Local. For a caller that must look again soon, because messages may come, and has found
  /// nothing `idle` times. Yields the core at first; after some times sleeps for a moment, or until
  /// woken. The moments grow, up to `many` times, because `many` callers may poll at once.
  void rest(int idle, std::atomic<std::uint32_t>* word = nullptr, std::uint32_t seen = 0,
            int many = 1);
  /// Local. wake() wakes all who sleep on `word`; wake_one() wakes one of them.
  static void wake(std::atomic<std::uint32_t>& word);
  static void wake_one(std::atomic<std::uint32_t>& word);

 private:
  void look_after_them(const std::atomic<std::uint32_t>* word, std::uint32_t seen);

  const Comm& node_;
  std::vector<std::int64_t> watched_;  // processes, as they identify themselves; not this one
  std::size_t next_ = 0;               // which to check first
  std::int64_t looked_at_ = 0;         // when rest() checked last, in seconds of the clock
};

}  // namespace forebay
