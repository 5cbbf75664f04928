// Two-level reordering (Hou 2023, §3.2.4).
//
// Requests come in program order; a file needs increasing offsets. Each request gives its own
// extents in file order. So whole requests are sorted by their first byte (high level). Neighbours
// whose byte ranges interleave form a group, and only the extents of a group are merged one by one
// (low level). A heap over the group's cursors does that instead of flattening and sorting. Memory
// is one extent per request, time is O(log group) per extent, and a request that interleaves with
// no other passes through untouched.
//
// If written extents overlap, the request posted last wins: the merge cuts the other extent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/extent.h"

namespace forebay {

/// The byte range of a request, and its position in program order.
struct RequestRange {
  Offset first = 0;
  Offset last = 0;  ///< one past the last byte
  std::uint32_t index = 0;
};

/// Sorts by first byte, and returns the end of each group as a position in `ranges`. O(n log n) in
/// requests (O(n) if they are in order already), independent of the number of extents.
std::vector<std::uint32_t> group_requests(std::vector<RequestRange>& ranges);

/// Merges the cursors of one group. Cursor: `std::size_t next(std::span<Extent>)`, in file order.
template <typename Cursor>
class GroupMerge {
 public:
  /// `cursors` are in program order. `cut_overlaps` is for writes.
  GroupMerge(std::vector<Cursor> cursors, bool cut_overlaps)
      : cursors_(std::move(cursors)), cut_(cut_overlaps) {
    heap_.reserve(cursors_.size());
    for (std::uint32_t i = 0; i < cursors_.size(); ++i) refill(i);
  }

  std::size_t next(std::span<Extent> out) {
    std::size_t n = 0;
    while (n < out.size()) {
      if (!have_current_ && !pop(current_)) break;
      have_current_ = true;
      Item following;
      if (!pop(following)) {
        out[n++] = current_.extent;
        have_current_ = false;
      } else if (!cut_ || following.extent.offset >= current_.extent.end()) {
        out[n++] = current_.extent;
        current_ = following;
      } else if (following.rank > current_.rank) {
        n += later_wins(following, out[n]);
      } else {
        earlier_loses(following);
      }
    }
    return n;
  }

 private:
  struct Item {
    Extent extent;
    std::uint32_t rank;  ///< program order
    bool leftover;       ///< the tail of a cut extent, not followed by its cursor's next extent
  };
  struct Later {
    bool operator()(const Item& a, const Item& b) const {
      return a.extent.offset != b.extent.offset ? a.extent.offset > b.extent.offset
                                                : a.rank > b.rank;
    }
  };

  void push(const Item& item) {
    heap_.push_back(item);
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }

  void refill(std::uint32_t i) {
    Extent e;
    if (cursors_[i].next(std::span<Extent>(&e, 1)) == 1) push({e, i, false});
  }

  bool pop(Item& item) {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    item = heap_.back();
    heap_.pop_back();
    if (!item.leftover) refill(item.rank);
    return true;
  }

  static Item tail_of(const Item& item, Offset from) {
    Item tail = item;
    tail.extent.skip += from - item.extent.offset;
    tail.extent.length = item.extent.end() - from;
    tail.extent.offset = from;
    tail.leftover = true;
    return tail;
  }

  // `following` covers part of the current extent. Emits the head of the current one; its tail
  // comes back later.
  std::size_t later_wins(const Item& following, Extent& out) {
    if (current_.extent.end() > following.extent.end())
      push(tail_of(current_, following.extent.end()));
    std::size_t emitted = 0;
    if (following.extent.offset > current_.extent.offset) {
      out = current_.extent;
      out.length = following.extent.offset - current_.extent.offset;
      emitted = 1;
    }
    current_ = following;
    return emitted;
  }

  void earlier_loses(const Item& following) {
    if (following.extent.end() > current_.extent.end())
      push(tail_of(following, current_.extent.end()));
  }

  std::vector<Cursor> cursors_;
  std::vector<Item> heap_;
  Item current_{};
  bool have_current_ = false;
  bool cut_;
};

}  // namespace forebay
