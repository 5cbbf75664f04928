#include "comm/test_delay.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <thread>

#include "base/hash.h"

namespace forebay {

namespace {

/// Delays one thread: now and then for a short time, in some stretches of calls often.
class Dawdler {
 public:
  // It allocates nothing: tests of ranks without memory are delayed, too.
  Dawdler(std::uint32_t seed, Rank rank) {
    const auto thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
    const std::array<std::uint64_t, 3> mixed{seed, static_cast<std::uint64_t>(rank), thread};
    random_.seed(static_cast<std::uint32_t>(hash_of(std::as_bytes(std::span(mixed)))));
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
