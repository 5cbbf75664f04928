// Which bytes of a file are free: the allocator behind the chunk heap.
//
// Every rank keeps the same one and makes the same calls, so that places are agreed on without a
// message. What is released may be taken again at once; who must keep old bytes for a while (until
// a publication or a sync) releases them later.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/types.h"

namespace forebay {

class FileSpace {
 public:
  static constexpr Count unit = 8;  ///< places and sizes are multiples of this

  struct Range {
    Offset begin, end;
    bool operator==(const Range&) const = default;
  };

  FileSpace() = default;
  /// All from `begin` on is free, but for `used` (in any order; may overlap).
  FileSpace(Offset begin, std::vector<Range> used);

  /// The smallest free range that holds `bytes` (the first of several), else the end of the file.
  /// O(log n) in free ranges.
  Offset allocate(Count bytes);
  void release(Offset offset, Count bytes);
  /// Takes [end(), to): what stands there is somebody else's from now on.
  void skip_to(Offset to);

  Offset end() const { return end_; }  ///< one past the last byte in use
  Count free_bytes() const;            ///< between the beginning and end()

 private:
  using Ranges = std::map<Offset, Offset>;
  void add(Offset begin, Offset end);
  Ranges::iterator remove(Ranges::iterator range);  // the one behind it

  Ranges free_;  // begin → end; neighbours are merged; none touches end_
  std::set<std::pair<Count, Offset>> by_size_;  // the same ranges: bytes and begin
  Offset end_ = 0;
};

}  // namespace forebay
