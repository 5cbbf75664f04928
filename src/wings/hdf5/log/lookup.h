// Finds the entries of one dataset that may hold the elements of a read, in logarithmic time. It is
// a packed R-tree, built once (Leutenegger, Lopez, Edgington: STR, ICDE 1997).
//
// Its boxes are either the entries' boxes in all dimensions, or intervals of flattened elements,
// which are sorted runs. It takes those that overlap less, measured by the share of the whole that
// they cover on average. Boxes suit a decomposition in blocks; intervals suit rows and irregular
// ones.
#pragma once

#include <cstdint>
#include <vector>

#include "array/pattern.h"
#include "hdf5/format/log_index.h"

namespace forebay::logged {

/// Returns the box that a list with writes is searched for: of elements, or of flattened ones.
std::vector<Count> wanted_box(const ListShape& list, const Bounds& wanted);

class Lookup {
 public:
  /// `ndims` 0 means unknown until the first write or set_ndims().
  explicit Lookup(std::uint32_t ndims = 0) { list_.ndims = ndims; }
  /// Makes the lookup of an index's list. Errc::ebadlog if its boxes make no sense.
  explicit Lookup(EntryList list);

  /// Adds an entry. `bounds` are those of its pattern; null if it is not a write. build() comes at
  /// the end.
  void add(const Entry& entry, const PatternRef& ref, const Bounds* bounds);
  /// Returns false if the entries have another number of dimensions.
  bool set_ndims(std::uint32_t ndims);
  /// Sorts entries into write order and builds the tree. O(n log n).
  void build();
  /// Returns whether entries were added since the last build().
  bool stale() const { return stale_; }

  std::size_t size() const { return list_.entries.size(); }
  const Entry& entry(std::uint32_t n) const { return list_.entries[n]; }
  const PatternRef& ref(std::uint32_t n) const { return list_.refs[n]; }
  const EntryList& list() const { return list_; }
  Count memory() const;

  /// Finds the numbers of all cuts, and of the writes whose bounds meet `wanted`, in write order.
  void find(const Bounds& wanted, std::vector<std::uint32_t>& numbers) const;

 private:
  static constexpr std::size_t fan = 16;

  void take_back();
  void choose_boxes();
  void tile(std::size_t begin, std::size_t end, std::size_t dim);
  void build_levels();
  Count center(std::uint32_t leaf, std::size_t dim) const;

  EntryList list_;
  bool stale_ = false;
  bool mixed_ = false;  // entries were made at different extents: intervals cannot be compared
  // Boxes and intervals of the writes, in the order of list_.entries, until the tree is built. Only
  // boxes, if entries are added to an index that has boxes.
  std::vector<Count> all_boxes_, intervals_;
  std::vector<std::uint32_t> cuts_;
  std::vector<std::vector<Count>> levels_;  // boxes, each around `fan` boxes of the level below
};

}  // namespace forebay::logged
