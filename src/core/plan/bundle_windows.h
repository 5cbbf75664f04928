// The windows of several files as one sequence. They are merged so that the windows of each file
// are spread over the whole sequence, and every group of ranks always has work.
//
// Window k of the n windows of file f is at (k + ½) / n of the sequence; of two at the same place,
// the lower file comes first. So its position is the number of windows before it: a sum over files,
// without a table of windows.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

class BundleWindows {
 public:
  struct Range {
    Offset first = 0, last = 0;  ///< bytes of a file that are touched; equal: none
  };
  struct Place {
    std::size_t file = 0;
    Count window = 0;  ///< among the touched windows of its file, from 0
  };

  /// Windows are `size` bytes long and begin at multiples of it. Errc::eintoverflow if the sequence
  /// would have 2^63 bytes.
  BundleWindows(std::span<const Range> files, Count size);

  Count size() const { return size_; }
  Count count() const { return all_; }
  Count count_of(std::size_t file) const { return counts_[file]; }
  /// Number, within the file, of its first touched window.
  Count first_of(std::size_t file) const { return firsts_[file]; }

  /// The position of a window in the sequence. O(files).
  Count position(std::size_t file, Count window) const;
  /// The window at a position. Thread-safe; O(1) for consecutive positions.
  Place at(Count position) const;

 private:
  Count size_ = 1, all_ = 0;
  std::vector<Count> firsts_, counts_;
  // The places of the latest queries.
  static constexpr Count most_kept = 1 << 13;
  mutable std::mutex mutex_;
  mutable std::vector<Place> kept_;
  mutable Count kept_from_ = -1;
};

}  // namespace forebay
