#include "slow_store/slow_store_model.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace forebay::bench {
namespace {

constexpr double kNanoseconds = 1e9;

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) {
    // A process that is killed here leaves at worst one call half in the books.
    if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

std::uint64_t mixed(std::uint64_t key) {
  key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
  key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
  return key ^ (key >> 31);
}

// Null if the table is full.
SlowStoreState::Stripe* find_stripe(SlowStoreState& state, std::uint64_t file, std::int64_t index) {
  const std::uint64_t key = mixed(mixed(file) + static_cast<std::uint64_t>(index)) | 1;
  for (std::size_t probe = 0; probe < kStripeSlots; ++probe) {
    SlowStoreState::Stripe& stripe = state.stripes[(key / 2 + probe) % kStripeSlots];
    if (stripe.key == key) return &stripe;
    if (stripe.key == 0) {
      stripe.key = key;
      return &stripe;
    }
  }
  ++state.counters.lost;
  return nullptr;
}

// The how manieth file it is.
std::uint64_t number_of_file(SlowStoreState& state, std::uint64_t file) {
  const auto end = state.files.begin() + static_cast<std::ptrdiff_t>(state.known_files);
  const auto found = std::find(state.files.begin(), end, file);
  const auto number = static_cast<std::uint64_t>(found - state.files.begin());
  if (found == end && number < kMostFiles) state.files[state.known_files++] = file;
  return number;
}

std::int64_t transfer_ns(std::int64_t bytes, double bytes_per_second) {
  if (bytes_per_second <= 0) return 0;
  return std::llround(static_cast<double>(bytes) / bytes_per_second * kNanoseconds);
}

template <typename Visit>
void visit_stripes(const SlowStoreParameters& p, const SlowStoreCall& call, Visit visit) {
  const std::int64_t end = call.offset + call.bytes;
  for (std::int64_t at = call.offset; at < end;) {
    const std::int64_t index = at / p.stripe_bytes;
    const std::int64_t next = std::min(end, (index + 1) * p.stripe_bytes);
    visit(index, next - at);
    at = next;
  }
}

}  // namespace

std::int64_t book_call(SlowStoreState& state, const SlowStoreParameters& p,
                       const SlowStoreCall& call) {
  const Lock lock(state.mutex);
  std::int64_t granted = call.now;  // when all locks are held
  std::int64_t passed = call.now;   // when the servers have done all that came before, and this
  visit_stripes(p, call, [&](std::int64_t index, std::int64_t bytes) {
    const auto servers = static_cast<std::uint64_t>(p.servers);
    const auto number =
        p.one_server_files ? number_of_file(state, call.file) : static_cast<std::uint64_t>(index);
    std::int64_t& server = state.next_free[static_cast<std::size_t>(number % servers)];
    server = std::max(server, call.now) + transfer_ns(bytes, p.bytes_per_second / p.servers);
    passed = std::max(passed, server);
    SlowStoreState::Stripe* stripe = call.write ? find_stripe(state, call.file, index) : nullptr;
    if (!stripe) return;
    if (stripe->writer != 0 && stripe->writer != call.process) {
      granted = std::max(granted, stripe->busy_until) + p.switch_ns;
      ++state.counters.switches;
    }
    stripe->writer = call.process;
  });
  const double fastest = p.one_server_files ? p.bytes_per_second / p.servers : p.bytes_per_second;
  const std::int64_t moved = granted + transfer_ns(call.bytes, fastest);
  const std::int64_t end = std::max(passed, moved) + p.latency_ns;
  if (call.write) {
    visit_stripes(p, call, [&](std::int64_t index, std::int64_t) {
      SlowStoreState::Stripe* stripe = find_stripe(state, call.file, index);
      if (stripe) stripe->busy_until = std::max(stripe->busy_until, end);
    });
  }
  ++(call.write ? state.counters.writes : state.counters.reads);
  (call.write ? state.counters.written : state.counters.read) +=
      static_cast<std::uint64_t>(call.bytes);
  state.counters.waited_ns += static_cast<std::uint64_t>(end - call.now);
  return end;
}

void attach_state(SlowStoreState& state) {
  std::uint32_t none = 0;
  if (state.stage.compare_exchange_strong(none, 1)) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&state.mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    state.stage = 2;
  }
  while (state.stage != 2) sched_yield();
}

}  // namespace forebay::bench
