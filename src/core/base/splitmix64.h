// Numbers that look random but are the same everywhere.
#pragma once

#include <cstdint>

namespace forebay {

/// A bijection that maps neighbours to unrelated numbers: the last step of SplitMix64 (Steele, Lea,
/// Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace forebay
