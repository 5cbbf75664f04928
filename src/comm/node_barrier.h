// A barrier for the ranks of one node that sleeps while it waits.
//
// MPI's barrier looks for messages all the time. Where ranks outnumber processors, or share them
// with threads that encode, those who wait take time from those who still work: a barrier that
// follows uneven work should let them sleep.
#pragma once

#include <cstdint>

#include "comm/comm.h"
#include "comm/node_memory.h"
#include "comm/peers.h"

namespace forebay {

class NodeBarrier {
 public:
  /// Collective over `node`, which outlives the barrier, as `peers` do. Where there is no shared
  /// memory, wait() is MPI's barrier.
  NodeBarrier(const Comm& node, Peers& peers);
  /// Collective over the node. What ranks wrote to shared memory before it, all see after it. MPI
  /// makes no progress meanwhile: nothing may be under way.
  void wait();

 private:
  struct State;
  void meet();

  const Comm& node_;
  NodeMemory memory_;
  Peers& peers_;
};

}  // namespace forebay
