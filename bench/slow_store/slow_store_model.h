#pragma once

// A model of a parallel file system that several jobs use, for benchmarks: how long a system call
// on it takes. All processes that use the store share one State, in shared memory.
//
//     latency     Every call takes it, calls of different processes at the same time.
//     bandwidth   No more bytes than this pass in a second, all processes together. It is that of
//                 `servers` servers of equal share, to which stripes belong in turn: who touches
//                 the stripes of one server only gets its share.
//                 Or each file has its own: all stripes of a file are on one server, as where file
//                 systems stripe nothing unless they are asked to.
//     switch      A stripe has one writer at a time, the holder of its lock. Whoever writes to a
//                 stripe that another process wrote last waits until the other's call has ended,
//                 and then for the lock to be handed over. The first writer gets it for nothing.
//
// Reads pay latency and bandwidth and take no locks. Each process counts as a client of its own, as
// if every rank ran on a node of its own: clients are what locks belong to.

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace forebay::bench {

struct SlowStoreParameters {
  std::int64_t latency_ns = 0;
  double bytes_per_second = 0;  ///< of all servers; 0: no limit
  std::int64_t stripe_bytes = 1 << 20;
  std::int64_t switch_ns = 0;
  int servers = 1;                ///< at most kMostServers
  bool one_server_files = false;  ///< the first ones that are touched each on another
};

constexpr int kMostServers = 256;
constexpr std::size_t kStripeSlots = std::size_t{1} << 16;
constexpr std::size_t kMostFiles = 4096;  ///< that are told apart, of one server each

/// Valid when zero-filled, apart from `mutex`, which attach_state() sets up. Begins with what the
/// launcher reads: 64-bit numbers, in the order of Counters.
struct SlowStoreState {
  struct Counters {
    std::uint64_t writes = 0;
    std::uint64_t written = 0;  ///< bytes
    std::uint64_t reads = 0;
    std::uint64_t read = 0;  ///< bytes
    std::uint64_t switches = 0;
    std::uint64_t waited_ns = 0;  ///< sum over calls of what they are to take
    std::uint64_t lost = 0;       ///< stripes beyond the table's size, whose switches cost nothing
  };
  struct Stripe {
    std::uint64_t key = 0;  ///< 0: free
    std::int64_t busy_until = 0;
    std::int64_t writer = 0;
  };

  Counters counters;
  std::atomic<std::uint32_t> stage;  ///< of set-up: 0 none, 1 under way, 2 done
  pthread_mutex_t mutex;
  std::array<std::int64_t, kMostServers> next_free;  ///< of each server, ns
  std::array<Stripe, kStripeSlots> stripes;
  std::array<std::uint64_t, kMostFiles> files;  ///< in the order of their first calls
  std::uint64_t known_files = 0;
};

/// One system call. Times are nanoseconds of one clock that all processes share.
struct SlowStoreCall {
  std::int64_t now = 0;
  std::int64_t process = 0;  ///< positive
  std::uint64_t file = 0;    ///< differs from file to file
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  bool write = false;
};

/// Enters `call` in the books and returns when it ends. Safe between processes and threads.
std::int64_t book_call(SlowStoreState& state, const SlowStoreParameters& parameters,
                       const SlowStoreCall& call);

/// Makes the mutex of a new state, once, whoever comes first.
void attach_state(SlowStoreState& state);

}  // namespace forebay::bench
