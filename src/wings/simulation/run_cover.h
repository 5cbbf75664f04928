// Which bytes of neighbouring windows have been placed: one bit for each unit, as slots
// (transport/slots.h) have one for each byte.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace forebay::simulation {

class RunCover {
 public:
  /// Makes room for `units` units, a multiple of 64, without marks.
  void make_room(Count units) {
    if (words_.size() < static_cast<std::size_t>(units / 64))
      words_.resize(static_cast<std::size_t>(units / 64));
  }

  void mark(Count from, Count to) {
    const auto first = static_cast<std::size_t>(from / 64);
    const auto last = static_cast<std::size_t>((to - 1) / 64);
    const std::uint64_t head = ~std::uint64_t{0} << (from % 64);
    const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (to - 1) % 64);
    if (first == last) {
      words_[first] |= head & tail;
      return;
    }
    words_[first] |= head;
    for (std::size_t w = first + 1; w < last; ++w) words_[w] = ~std::uint64_t{0};
    words_[last] |= tail;
  }

  /// Calls f(from, to) for each marked run within [begin, end), multiples of 64, in order, and
  /// removes the marks.
  template <typename F>
  void take_runs(Count begin, Count end, F&& f) {
    const std::uint64_t* const words = words_.data();
    const Count last = end / 64;
    Count open = -1;  // begin of the current run
    for (Count w = begin / 64; w < last; ++w) {
      if (open < 0) w = next_marked(words, w, last);
      if (w == last) break;
      std::uint64_t word = words[w];
      words_[static_cast<std::size_t>(w)] = 0;
      for (Count at = w * 64;;) {
        if (open < 0) {
          if (word == 0) break;
          const int skipped = std::countr_zero(word);
          word >>= skipped;
          at += skipped;
          open = at;
        }
        const int ones = std::countr_one(word);
        at += ones;
        if (at >= (w + 1) * 64) break;  // the run may continue
        f(open, at);
        open = -1;
        word >>= ones;
      }
    }
    if (open >= 0) f(open, end);
  }

 private:
  // Most words of a sparse window are empty.
  static Count next_marked(const std::uint64_t* words, Count w, Count last) {
    while (w + 4 <= last && (words[w] | words[w + 1] | words[w + 2] | words[w + 3]) == 0) w += 4;
    while (w < last && words[w] == 0) ++w;
    return w;
  }

  std::vector<std::uint64_t> words_;
};

}  // namespace forebay::simulation
