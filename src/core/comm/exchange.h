// Sparse all-to-all: each rank sends to a few ranks, and no rank needs to know from whom it will
// receive. It uses nonblocking consensus: synchronous sends, then a nonblocking barrier when all
// own messages have been received (Hoefler, Siebert, Lumsdaine: Scalable communication protocols
// for dynamic sparse data exchange, PPoPP 2010).
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "comm/comm.h"

namespace forebay {

struct Message {
  Rank to;
  std::vector<std::byte> bytes;
};

/// Refers to a callable that outlives the exchange. Unlike std::function, it needs no memory.
class Receive {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Receive>)
      Receive(F&& f)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : callable_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* callable, Rank from, std::span<const std::byte> bytes) {
          (*static_cast<std::remove_reference_t<F>*>(callable))(from, bytes);
        }) {}
  void operator()(Rank from, std::span<const std::byte> bytes) const {
    call_(callable_, from, bytes);
  }

 private:
  void* callable_;
  void (*call_)(void*, Rank, std::span<const std::byte>);
};

/// Collective. Calls `receive(from, bytes)` once for each message to this rank, in any order. The
/// span is valid during the call. Memory: the outgoing messages, and one incoming message at a
/// time. Messages may exceed 2 GiB. An error on this rank, in `receive` or for lack of memory, is
/// thrown on this rank after the exchange. Nobody waits for it, but its messages may not have been
/// sent or received. A rank may return and begin the next exchange while others still wait in this
/// one, so ranks are at most one exchange of a communicator apart.
void sparse_exchange(const Comm& comm, std::span<const Message> outgoing, const Receive& receive);

}  // namespace forebay
