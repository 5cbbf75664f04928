#pragma once

// Values that depend on nothing but (variable, record, element index): every rank can make and
// check its own without knowing who wrote them, in one multiplication an element.
//
//     x(e) = (e * 2654435761 + seed(variable, record)) mod 2^32, upper 23 bits
//
// 23 bits are exact in every numeric type that the workloads use, so that a conversion on the way
// to the file and back changes nothing.

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::bench {

/// A run of consecutive elements of a flattened array; `fill` runs carry the fill value.
struct Run {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  bool fill = false;
};

inline std::uint32_t pattern_seed(std::int64_t variable, std::int64_t record) {
  std::uint64_t h = static_cast<std::uint64_t>(variable) * 0x9E3779B97F4A7C15u +
                    static_cast<std::uint64_t>(record) * 0xC2B2AE3D27D4EB4Fu;
  h ^= h >> 29;
  return static_cast<std::uint32_t>(h * 0xBF58476D1CE4E5B9u >> 32);
}

template <typename T>
T pattern_value(std::uint32_t seed, std::int64_t element) {
  const std::uint32_t bits = (static_cast<std::uint32_t>(element) * 2654435761u + seed) >> 9;
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>('a' + (bits & 15u));
  } else {
    return static_cast<T>(static_cast<std::int32_t>(bits));
  }
}

/// Writes the values of `runs`, one run after the other, to `out`.
template <typename T>
void make_pattern(T* out, std::span<const Run> runs, std::uint32_t seed, T fill_value) {
  for (const Run& run : runs) {
    if (run.fill) {
      for (std::int64_t k = 0; k < run.length; ++k) out[k] = fill_value;
    } else {
      for (std::int64_t k = 0; k < run.length; ++k) {
        out[k] = pattern_value<T>(seed, run.offset + k);
      }
    }
    out += run.length;
  }
}

/// Number of elements at `in` that differ from what make_pattern() would put there.
template <typename T>
std::int64_t count_mismatches(const T* in, std::span<const Run> runs, std::uint32_t seed,
                              T fill_value) {
  std::int64_t wrong = 0;
  for (const Run& run : runs) {
    for (std::int64_t k = 0; k < run.length; ++k) {
      const T expected = run.fill ? fill_value : pattern_value<T>(seed, run.offset + k);
      wrong += in[k] != expected;
    }
    in += run.length;
  }
  return wrong;
}

}  // namespace forebay::bench
