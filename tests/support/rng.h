// A small random generator whose sequence is the same on every platform and rank.
#pragma once

#include <cstdint>

namespace forebay_test {

// splitmix64: every seed gives a full-period sequence; equal seeds replay.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, n); 0 when n is 0 or less.
  int64_t below(int64_t n) {
    return n <= 0 ? 0 : static_cast<int64_t>(next() % static_cast<uint64_t>(n));
  }

  // Uniform in [low, high], both included.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }

  // True once in n on average.
  bool one_in(int64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace forebay_test
