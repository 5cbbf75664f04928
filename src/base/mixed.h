// Numbers that look as if drawn at random, but are the same everywhere.
#pragma once

#include <cstdint>

namespace forebay {

/// A bijection after which neighbours have nothing in common: SplitMix64's last step (Steele, Lea,
/// Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace forebay
