// Integer types with a meaning, for all folders. All counts and offsets are 64-bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

using Offset = std::int64_t;  ///< a byte position in a file
using Count = std::int64_t;   ///< a number of elements or bytes
using VarId = int;
using DimId = int;
using Rank = int;

constexpr VarId global_id = -1;  ///< stands for the file as the owner of an attribute

/// Computes a × b. Returns false if the product of non-negative numbers needs over 63 bits.
[[nodiscard]] constexpr bool multiply_fits(Count a, Count b, Count& product) {
  return !__builtin_mul_overflow(a, b, &product);
}

[[nodiscard]] constexpr bool add_fits(Count a, Count b, Count& sum) {
  return !__builtin_add_overflow(a, b, &sum);
}

constexpr Offset round_up(Offset value, Offset unit) { return (value + unit - 1) / unit * unit; }

}  // namespace forebay
