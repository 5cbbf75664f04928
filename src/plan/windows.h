// File domains: the file is cut into windows of equal size at multiples of that size (a multiple of
// the stripe size, so that no two nodes ever write to one stripe), and windows are dealt
// round-robin to the nodes that aggregate. A rank's sorted extents then meet the windows in
// increasing order: one cursor serves all aggregators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

/// Which node has a window, where that does not go round.
class WindowHomes {
 public:
  virtual ~WindowHomes() = default;
  virtual int home_of(Count window) const = 0;
  /// Which of its ranks receives messages.
  virtual int delegate_of(Count window) const = 0;
};

/// The range of bytes that one collective operation touches, over all ranks.
struct WindowGrid {
  Count size = 1;   ///< bytes of a window
  Count first = 0;  ///< number of the first window: byte `first * size` of the file begins it
  Count count = 0;  ///< windows in the range
  int homes = 1;    ///< nodes that aggregate
  const WindowHomes* given = nullptr;  ///< instead; outlives the grid

  static WindowGrid over(Offset begin, Offset end, Count size, int homes) {
    WindowGrid g;
    g.size = size;
    g.homes = homes;
    g.first = begin / size;
    g.count = end > begin ? (end - 1) / size - g.first + 1 : 0;
    return g;
  }

  /// The windows from the one that holds `offset` on, as many as are looked at together: however
  /// large the file, what ranks keep of them is small.
  static constexpr Count most_together = 1 << 13;
  WindowGrid part_from(Offset offset) const {
    WindowGrid part = *this;
    part.first = std::max(first, offset / size);
    part.count = std::min(first + count - part.first, most_together);
    return part;
  }
  Offset end() const { return end_of(first + count - 1); }

  Offset begin_of(Count window) const { return window * size; }
  Offset end_of(Count window) const { return (window + 1) * size; }
  int home_of(Count window) const {
    return given ? given->home_of(window) : static_cast<int>(window % homes);
  }
  /// Which of a home node's `ranks` receives messages for the window: they take turns.
  int delegate_of(Count window, int ranks) const {
    return given ? given->delegate_of(window) : static_cast<int>(window / homes % ranks);
  }
};

/// Which windows of a part of a grid somebody touches: a bit for each.
class TouchedWindows {
 public:
  explicit TouchedWindows(const WindowGrid& part)
      : part_(part), bits_(static_cast<std::size_t>((part.count + 63) / 64)) {}

  /// Whatever of [begin, end) lies in the part.
  void mark(Offset begin, Offset end) {
    if (begin >= latest_ && end - latest_ <= part_.size) return;  // as most pieces
    latest_ = (end - 1) / part_.size * part_.size;
    const Count from = std::max(begin / part_.size - part_.first, Count{0});
    const Count to = std::min((end - 1) / part_.size - part_.first, part_.count - 1);
    for (Count i = from; i <= to; ++i)
      bits_[static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64);
  }
  /// In order; all_gather()ed, those of several ranks follow each other.
  std::span<const std::uint64_t> words() const { return bits_; }
  static bool is_marked(std::span<const std::uint64_t> words, Count i) {
    return (words[static_cast<std::size_t>(i / 64)] >> (i % 64) & 1) != 0;
  }

 private:
  WindowGrid part_;
  std::vector<std::uint64_t> bits_;
  Offset latest_ = std::numeric_limits<Offset>::max();  ///< where the last one marked begins
};

}  // namespace forebay
