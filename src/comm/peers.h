// The other ranks of a node, as processes: for those who sleep in shared memory until one of them
// wakes them.
//
// MPI's launcher ends a job when a rank dies, but not every launcher, nor in every setting, and
// nobody wakes those who sleep on a word that the dead rank was to change. So sleepers look every
// second whether the others are alive, and end the job (MPI_Abort) where one is not: no collective
// call could ever complete again, so there is no error that could be returned on all ranks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/comm.h"

namespace forebay {

class Peers {
 public:
  /// Collective over `node`, which outlives this.
  explicit Peers(const Comm& node);
  /// Local. Sleeps while `word` is `seen`, until it is woken, or about a second: the caller looks
  /// for itself whether it has to go on sleeping. Does not return if another rank has died.
  void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen);
  /// Local. For who has to look again soon, as messages may come, and has found nothing `idle`
  /// times: leaves the core to others, and after some times sleeps a moment, or until it is woken.
  /// Where `many` do so at once the moments become as many times longer.
  void rest(int idle, std::atomic<std::uint32_t>* word = nullptr, std::uint32_t seen = 0,
            int many = 1);
  /// Local. All who sleep on it, or one of them.
  static void wake(std::atomic<std::uint32_t>& word);
  static void wake_one(std::atomic<std::uint32_t>& word);

 private:
  void look_after_them(const std::atomic<std::uint32_t>* word, std::uint32_t seen);

  const Comm& node_;
  std::vector<std::int64_t> watched_;  // processes, as they tell of themselves; not this one
  std::size_t next_ = 0;               // whom to look at first
  std::int64_t looked_at_ = 0;         // seconds of the clock, where rest() looked last
};

}  // namespace forebay
