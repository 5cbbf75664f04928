// Sparse all-to-all: each rank sends to the few ranks it has something for, and nobody needs to
// know from whom it will receive. Nonblocking consensus: synchronous sends, then a nonblocking
// barrier when all of mine have been received (Hoefler, Siebert, Lumsdaine: Scalable communication
// protocols for dynamic sparse data exchange, PPoPP 2010).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "comm/comm.h"

namespace forebay {

struct Message {
  Rank to;
  std::vector<std::byte> bytes;
};

using Receive = std::function<void(Rank from, std::span<const std::byte> bytes)>;

/// Collective. Calls `receive(from, bytes)` once for each message for this rank, in no particular
/// order; the span is valid during the call. Memory: one incoming message at a time besides the
/// outgoing ones. Messages may exceed 2 GiB. An exception from `receive` is rethrown after the
/// exchange has completed on this rank. Ranks may be one exchange of a communicator apart, never
/// two: a rank may return, and begin the next one, while others still wait in this one.
void sparse_exchange(const Comm& comm, std::span<const Message> outgoing, const Receive& receive);

}  // namespace forebay
