// Finds the visible parts of overlapping blocks in a box: a later block hides earlier ones.
#pragma once

#include <cstddef>
#include <vector>

#include "groups/process_group/overlap.h"

namespace forebay::process_group {

struct VisiblePart {
  std::size_t of;  ///< number of the overlap
  Overlap part;
};

struct Visible {
  std::vector<VisiblePart> parts;  ///< no two of them have an element in common
  Count elements = 0;              ///< elements of the box that some block has
  bool too_many = false;           ///< parts are incomplete: they would take too long
};

/// Local, no I/O. `box` has the extents; `overlaps` lie within it, in the order of blocks; `sum` is
/// the number of their elements. If there are few blocks and no two overlap, the time is linear in
/// the parts. Otherwise it takes one bit for each element of the box, and a comparison of pairs of
/// blocks, at most a few million.
Visible visible_parts(const std::vector<Overlap>& overlaps, const std::vector<Count>& box,
                      Count sum);

/// Local, no I/O. Returns how many elements of the box are in any of these parts; takes one bit for
/// each.
Count marked(const std::vector<Overlap>& overlaps, const std::vector<Count>& box);

}  // namespace forebay::process_group
