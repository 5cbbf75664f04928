// The windows of several files as one sequence: merged so that each file's are spread over all of
// it, and every group of ranks always has work.
//
// Window k of n of file f stands at (k + ½) / n of the sequence, and the lower file first where two
// stand at the same place. So its position is the number of windows that stand before it: a sum
// over files, without a table of windows.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

class BundleWindows {
 public:
  struct Range {
    Offset first = 0, last = 0;  ///< bytes of a file that are touched; the same: none
  };
  struct Place {
    std::size_t file = 0;
    Count window = 0;  ///< of those of its file that are touched, from 0
  };

  /// Windows of `size` bytes, cut at multiples of it. Errc::eintoverflow where the sequence would
  /// have 2^63 bytes.
  BundleWindows(std::span<const Range> files, Count size);

  Count size() const { return size_; }
  Count count() const { return all_; }
  Count count_of(std::size_t file) const { return counts_[file]; }
  /// Number of a file's first window, in the file.
  Count first_of(std::size_t file) const { return firsts_[file]; }

  /// Where a window stands in the sequence. O(files).
  Count position(std::size_t file, Count window) const;
  /// What stands there. Threads may ask at a time; O(1) for positions that follow each other.
  Place at(Count position) const;

 private:
  Count size_ = 1, all_ = 0;
  std::vector<Count> firsts_, counts_;
  // The positions that were asked for last.
  static constexpr Count most_kept = 1 << 13;
  mutable std::mutex mutex_;
  mutable std::vector<Place> kept_;
  mutable Count kept_from_ = -1;
};

}  // namespace forebay
