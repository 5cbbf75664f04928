// Which bytes of a window there are: one bit for each byte, in words of 64.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/byte_file.h"
#include "base/types.h"

namespace forebay {

/// Calls f(from, to) for each run of set bits; all lie within [low, high).
template <typename W, typename F>
void for_each_run(const W* words, Count low, Count high, F&& f) {
  Count open = -1;  // where a run began that has not ended
  for (Count w = low / 64; w * 64 < high; ++w) {
    std::uint64_t word = words[w];  // if atomic, it is complete by now
    Count at = w * 64;
    // `word` has the bits from `at` on: zeros, then a run that ends inside them or at their end.
    while (word != 0) {
      const int zeros = std::countr_zero(word);
      if (open >= 0 && zeros > 0) f(std::exchange(open, -1), at);
      word >>= zeros, at += zeros;
      const int ones = std::countr_one(word);
      if (open < 0) open = at;
      at += ones;
      if (at == w * 64 + 64) break;
      f(std::exchange(open, -1), at);
      word >>= ones;
    }
    if (word == 0 && open >= 0) f(std::exchange(open, -1), w * 64);
  }
  if (open >= 0) f(open, high);
}

/// Does the same, but joins runs with a hole of up to `bridge` between them. hole(from, to) comes
/// before the run that contains the hole.
template <typename W, typename Hole, typename F>
void for_each_bridged_run(const W* words, Count low, Count high, Count bridge, Hole&& hole, F&& f) {
  Count begin = -1, end = -1;
  for_each_run(words, low, high, [&](Count from, Count to) {
    if (begin < 0) {
      begin = from;
    } else if (from - end <= bridge) {
      hole(end, from);
    } else {
      f(std::exchange(begin, from), end);
    }
    end = to;
  });
  if (begin >= 0) f(begin, end);
}

/// Writes the covered bytes of a window that begins at `begin`; all lie within [low, high). Holes
/// of up to `hole_threshold` bytes are read into `bytes` first and written with their neighbours.
/// Returns how many bytes were written.
Count write_covered(ByteFile& file, Offset begin, std::byte* bytes, const std::uint64_t* cover,
                    Count low, Count high, Count hole_threshold);

}  // namespace forebay
