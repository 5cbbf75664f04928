// Sparse all-to-all: each rank sends to the few ranks it has something for, and nobody needs to
// know from whom it will receive. Nonblocking consensus: synchronous sends, then a nonblocking
// barrier when all of mine have been received (Hoefler, Siebert, Lumsdaine: Scalable communication
// protocols for dynamic sparse data exchange, PPoPP 2010).
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

/// Refers to a callable that outlives the exchange; unlike std::function it needs no memory.
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

/// Collective. Calls `receive(from, bytes)` once for each message for this rank, in no particular
/// order; the span is valid during the call. Memory: one incoming message at a time besides the
/// outgoing ones. Messages may exceed 2 GiB. What goes wrong on this rank, in `receive` or for want
/// of memory, is thrown on this rank once the exchange has completed: nobody waits for it, but its
/// messages may not have been sent, or not been received. Ranks may be one exchange of a
/// communicator apart, never two: a rank may return, and begin the next one, while others still
/// wait in this one.
void sparse_exchange(const Comm& comm, std::span<const Message> outgoing, const Receive& receive);

}  // namespace forebay
