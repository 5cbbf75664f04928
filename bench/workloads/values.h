#pragma once

// Ingredients of made-up data.

#include <bit>
#include <cstdint>

namespace forebay::bench {

/// 32 well-mixed bits that depend on `key` alone (the finaliser of splitmix64).
inline std::uint32_t mixed_bits(std::uint64_t key) {
  key += 0x9E3779B97F4A7C15u;
  key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
  key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
  return static_cast<std::uint32_t>((key ^ (key >> 31)) >> 32);
}

/// In [0, 1).
inline double mixed_unit(std::uint64_t key) { return mixed_bits(key) * (1.0 / 4294967296.0); }

/// `value` with the lowest bits of its mantissa cleared, so that `bits` of 23 are left: no
/// simulation means more, and what is below is noise to a lossless codec.
inline float keep_bits(float value, int bits) {
  const std::uint32_t mask = ~std::uint32_t{0} << (23 - bits);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & mask);
}

}  // namespace forebay::bench
