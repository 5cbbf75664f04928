// Counts the running calls of the C interfaces in all threads, for use when the program ends.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace forebay {

/// A running call, from its first line to its last.
class RunningCall {
 public:
  RunningCall() noexcept;
  ~RunningCall() {
    --of_this_thread;
    --of_all;
  }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  friend class CallsHeldOff;
  inline static std::atomic<int> of_all{0};
  inline static thread_local int of_this_thread = 0;
};

/// While an object of this class exists, calls that other threads begin wait.
class CallsHeldOff {
 public:
  CallsHeldOff() noexcept {
    for (auto other = std::thread::id();
         !holder.compare_exchange_strong(other, std::this_thread::get_id());
         other = std::thread::id()) {
      if (other == std::this_thread::get_id()) return;
      holder.wait(other);
    }
    holds_ = true;
  }
  ~CallsHeldOff() {
    if (!holds_) return;
    holder.store(std::thread::id());
    holder.notify_all();
  }
  CallsHeldOff(const CallsHeldOff&) = delete;
  CallsHeldOff& operator=(const CallsHeldOff&) = delete;

  /// Returns whether this thread is in a call, so that exit() was called from within it.
  static bool is_in_call() { return RunningCall::of_this_thread > 0; }
  /// Waits until no call runs. Returns false if some still run after `time`.
  static bool all_end_within(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (RunningCall::of_all > 0) {
      if (std::chrono::steady_clock::now() >= until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

 private:
  friend class RunningCall;
  inline static std::atomic<std::thread::id> holder{};
  bool holds_ = false;
};

inline RunningCall::RunningCall() noexcept {
  for (;;) {
    ++of_all;  // first: then CallsHeldOff sees this call, or this call sees its holder
    const auto holder = CallsHeldOff::holder.load();
    if (holder == std::thread::id() || holder == std::this_thread::get_id()) break;
    --of_all;
    CallsHeldOff::holder.wait(holder);
  }
  ++of_this_thread;
}

}  // namespace forebay
