// Finds the entries of one dataset that may hold what a read asks for, in logarithmic time: a
// packed R-tree, built once (Leutenegger, Lopez, Edgington: STR, ICDE 1997).
//
// Its boxes are either those of the entries in all dimensions, or intervals of flattened elements,
// which are sorted runs: whichever overlap less, by the share of the whole that they cover on
// average. A decomposition in blocks is told apart by boxes, one in rows or an irregular one by
// intervals.
#pragma once

#include <cstdint>
#include <vector>

#include "array/pattern.h"
#include "format/log_index.h"

namespace forebay::logged {

class Lookup {
 public:
  /// `ndims` 0: unknown until the first write or set_ndims().
  explicit Lookup(std::uint32_t ndims = 0) { list_.ndims = ndims; }
  /// Of what an index holds. Errc::ebadlog if its boxes make no sense.
  explicit Lookup(EntryList list);

  /// Adds an entry; `bounds` of its pattern where it is a write. build() comes after the last one.
  void add(const Entry& entry, const PatternRef& ref, const Bounds* bounds);
  /// False if the entries have another number of dimensions.
  bool set_ndims(std::uint32_t ndims);
  /// Puts entries into write order and builds the tree. O(n log n).
  void build();
  /// Whether build() is due.
  bool stale() const { return stale_; }

  std::size_t size() const { return list_.entries.size(); }
  const Entry& entry(std::uint32_t n) const { return list_.entries[n]; }
  const PatternRef& ref(std::uint32_t n) const { return list_.refs[n]; }
  const EntryList& list() const { return list_; }
  Count memory() const;

  /// The numbers of the writes whose bounds meet `wanted`, and of all cuts, in write order.
  void find(const Bounds& wanted, std::vector<std::uint32_t>& numbers) const;

 private:
  struct Level {
    std::vector<Count> boxes;  // around `fan` boxes of the level below, each
  };
  static constexpr std::size_t fan = 16;

  void take_back();
  std::vector<Count> wanted_box(const Bounds& wanted) const;

  void choose_boxes();
  void tile(std::size_t begin, std::size_t end, std::size_t dim);
  void build_levels();
  Count center(std::uint32_t leaf, std::size_t dim) const;

  EntryList list_;
  bool stale_ = false;
  bool mixed_ = false;  // entries were made at different extents: intervals cannot be compared
  // Of the writes, in the order of list_.entries, until the tree is built; boxes only, once an
  // index that is added to has them.
  std::vector<Count> all_boxes_, intervals_;
  std::vector<std::uint32_t> cuts_;
  std::vector<Level> levels_;
};

}  // namespace forebay::logged
