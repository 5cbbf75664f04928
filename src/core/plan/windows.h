// File domains. The file is cut into windows of equal size at multiples of that size (a multiple of
// the stripe size, so that no two nodes ever write to one stripe). Windows are distributed
// round-robin over the nodes that aggregate. A rank's sorted extents meet the windows in increasing
// order, so one cursor serves all aggregators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

/// Maps windows to nodes if they are not distributed round-robin.
class WindowHomes {
 public:
  virtual ~WindowHomes() = default;
  virtual int home_of(Count window) const = 0;
  /// The rank of the node that receives messages.
  virtual int delegate_of(Count window) const = 0;
};

/// The range of bytes that one collective operation touches, over all ranks.
struct WindowGrid {
  Count size = 1;   ///< bytes of a window
  Count first = 0;  ///< number of the first window, which begins at byte `first * size` of the file
  Count count = 0;  ///< windows in the range
  int homes = 1;    ///< nodes that aggregate
  const WindowHomes* given = nullptr;  ///< replaces round-robin; outlives the grid

  static WindowGrid over(Offset begin, Offset end, Count size, int homes) {
    WindowGrid g;
    g.size = size;
    g.homes = homes;
    g.first = begin / size;
    g.count = end > begin ? (end - 1) / size - g.first + 1 : 0;
    return g;
  }

  /// The windows from the one that contains `offset` on, at most as many as are processed together.
  /// So ranks need little memory for them, however large the file is.
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
  /// Which of a home node's `ranks` receives messages for the window; they take turns.
  int delegate_of(Count window, int ranks) const {
    return given ? given->delegate_of(window) : static_cast<int>(window / homes % ranks);
  }
};

/// The windows of a part of a grid that a rank touches: a bit for each.
class TouchedWindows {
 public:
  explicit TouchedWindows(const WindowGrid& part)
      : part_(part), bits_(static_cast<std::size_t>((part.count + 63) / 64)) {}

  /// Marks the windows of the part that [begin, end) touches.
  void mark(Offset begin, Offset end) {
    if (begin >= latest_ && end - latest_ <= part_.size) return;  // the common case
    latest_ = (end - 1) / part_.size * part_.size;
    const Count from = std::max(begin / part_.size - part_.first, Count{0});
    const Count to = std::min((end - 1) / part_.size - part_.first, part_.count - 1);
    for (Count i = from; i <= to; ++i)
      bits_[static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64);
  }
  /// In order. The words of several ranks follow each other after an all_gather().
  std::span<const std::uint64_t> words() const { return bits_; }
  static bool is_marked(std::span<const std::uint64_t> words, Count i) {
    return (words[static_cast<std::size_t>(i / 64)] >> (i % 64) & 1) != 0;
  }

 private:
  WindowGrid part_;
  std::vector<std::uint64_t> bits_;
  Offset latest_ = std::numeric_limits<Offset>::max();  ///< begin of the latest marked window
};

}  // namespace forebay
