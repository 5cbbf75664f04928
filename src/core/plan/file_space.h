// The free bytes of a file: the allocator behind the chunk heap.
//
// Every rank has a copy and makes the same calls, so that all agree on places without messages.
// Released space may be reused at once. A caller that must keep old bytes for a while (until a
// publication or a sync) releases them later.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
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
  /// Everything from `begin` on is free, except `used` (in any order; may overlap).
  FileSpace(Offset begin, std::vector<Range> used);

  /// The first of the smallest free ranges that hold `bytes`, else the end of the file. O(log n) in
  /// free ranges.
  Offset allocate(Count bytes);
  /// A place below `limit`, never at the end. Tries the 64 smallest sizes that fit, then the 64
  /// lowest ranges; so it may find nothing if many are too high or too small. Also O(log n).
  std::optional<Offset> allocate_below(Count bytes, Offset limit);
  void release(Offset offset, Count bytes);
  /// Takes [end(), to), which now belongs to somebody else.
  void skip_to(Offset to);

  Offset end() const { return end_; }  ///< one past the last byte in use
  Count free_bytes() const;            ///< between the beginning and end()

 private:
  using Ranges = std::map<Offset, Offset>;
  Offset take(Offset from, Offset to, Count bytes);
  void add(Offset begin, Offset end);
  Ranges::iterator remove(Ranges::iterator range);  // returns the next one

  Ranges free_;  // begin → end; neighbours are merged; none touches end_
  std::set<std::pair<Count, Offset>> by_size_;  // the same ranges: bytes and begin
  Offset end_ = 0;
};

}  // namespace forebay
