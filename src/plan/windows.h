// File domains: the file is cut into windows of equal size at multiples of that size (a multiple of
// the stripe size, so that no two nodes ever write to one stripe), and windows are dealt
// round-robin to the nodes that aggregate. A rank's sorted extents then meet the windows in
// increasing order: one cursor serves all aggregators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

/// The range of bytes that one collective operation touches, over all ranks.
struct WindowGrid {
  Count size = 1;   ///< bytes of a window
  Count first = 0;  ///< number of the first window: byte `first * size` of the file begins it
  Count count = 0;  ///< windows in the range
  int homes = 1;    ///< nodes that aggregate

  static WindowGrid over(Offset begin, Offset end, Count size, int homes) {
    WindowGrid g;
    g.size = size;
    g.homes = homes;
    g.first = begin / size;
    g.count = end > begin ? (end - 1) / size - g.first + 1 : 0;
    return g;
  }

  Offset begin_of(Count window) const { return window * size; }
  Offset end_of(Count window) const { return (window + 1) * size; }
  int home_of(Count window) const { return static_cast<int>(window % homes); }
  /// Which of a home node's `ranks` receives messages for the window: they take turns.
  int delegate_of(Count window, int ranks) const {
    return static_cast<int>(window / homes % ranks);
  }
};

/// Which windows anybody touches. One bit stands for 2^k neighbouring windows, so that the map
/// never exceeds 8 KiB however large the file.
class TouchedWindows {
 public:
  static constexpr Count most_bits = 1 << 16;

  explicit TouchedWindows(const WindowGrid& grid) : grid_(grid) {
    while ((grid.count >> shift_) >= most_bits) ++shift_;
    bits_.resize(static_cast<std::size_t>((grid.count >> shift_) / 64 + 1));
  }

  void mark(Offset begin, Offset end) {
    Count b = (begin / grid_.size - grid_.first) >> shift_;
    const Count e = ((end - 1) / grid_.size - grid_.first) >> shift_;
    for (; b <= e; ++b) bits_[static_cast<std::size_t>(b / 64)] |= std::uint64_t{1} << (b % 64);
  }
  void mark_all() {
    for (auto& word : bits_) word = ~std::uint64_t{0};
  }
  /// To be combined (bitwise or) over ranks.
  std::span<std::uint64_t> words() { return bits_; }

  /// The windows to visit, in order.
  template <typename F>
  void for_each(F&& f) const {
    for (Count b = 0; b << shift_ < grid_.count; ++b) {
      if (!(bits_[static_cast<std::size_t>(b / 64)] >> (b % 64) & 1)) continue;
      const Count end = std::min((b + 1) << shift_, grid_.count);
      for (Count i = b << shift_; i < end; ++i) f(grid_.first + i);
    }
  }

 private:
  WindowGrid grid_;
  int shift_ = 0;
  std::vector<std::uint64_t> bits_;
};

}  // namespace forebay
