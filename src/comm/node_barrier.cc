#include "comm/node_barrier.h"

#ifdef __linux__
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <climits>

#include "comm/test_delay.h"

namespace forebay {

// Zero-filled memory is a valid one.
struct NodeBarrier::State {
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> round;
};

NodeBarrier::NodeBarrier(const Comm& node, Peers& peers) : node_(node), peers_(peers) {
#ifdef __linux__
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
  if (node.size() > 1) memory_ = NodeMemory::create(node, sizeof(State));
#endif
}

void NodeBarrier::wait() {
  if (node_.size() == 1) return;
  test_delay(node_.rank());
  meet();
  test_delay(node_.rank());
}

void NodeBarrier::meet() {
#ifdef __linux__
  if (memory_) {
    constexpr int looks = 20;  // most waits are short: sleeping and waking takes longer
    auto& state = *reinterpret_cast<State*>(memory_.data());
    const std::uint32_t round = state.round.load();
    if (state.arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(node_.size())) {
      state.arrived.store(0);
      state.round.fetch_add(1);
      ::syscall(SYS_futex, &state.round, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
      return;
    }
    for (int i = 0; i < looks && state.round.load() == round; ++i) ::sched_yield();
    while (state.round.load() == round) peers_.sleep_on(state.round, round);
    return;
  }
#endif
  node_.barrier();
}

}  // namespace forebay
