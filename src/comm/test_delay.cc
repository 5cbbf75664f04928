#include "comm/test_delay.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <thread>

namespace forebay {

namespace {

/// Waits of one thread: now and then a short one; for stretches of calls this rank is the late one.
class Dawdler {
 public:
  Dawdler(std::uint32_t seed, Rank rank) {
    const auto thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
    std::seed_seq mixed{seed, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(thread)};
    random_.seed(mixed);
  }
  void dawdle() {
    constexpr int stretch = 64;  // calls
    if (calls_++ % stretch == 0) late_ = random_() % 4 == 0;
    if (random_() % (late_ ? 3 : 32) != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 400));
  }

 private:
  std::minstd_rand random_;
  std::uint64_t calls_ = 0;
  bool late_ = false;
};

}  // namespace

void test_delay(Rank rank) {
  static const char* const seed = std::getenv("FOREBAY_TEST_DELAYS");
  if (seed == nullptr) return;
  thread_local Dawdler dawdler(static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)), rank);
  dawdler.dawdle();
}

}  // namespace forebay
