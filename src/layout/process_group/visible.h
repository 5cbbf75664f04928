// What is seen of blocks that lie over one another in a box: the later one hides the earlier.
#pragma once

#include <cstddef>
#include <vector>

#include "layout/process_group/overlap.h"

namespace forebay::process_group {

struct VisiblePart {
  std::size_t of;  ///< which of the overlaps
  Overlap part;
};

struct Visible {
  std::vector<VisiblePart> parts;  ///< no two of them have an element in common
  Count elements = 0;              ///< of the box that some block has
  bool too_many = false;           ///< the parts are not all there: it would take too long
};

/// Local, no I/O. `box`: its extents; `overlaps` lie within it, in the order of blocks; `sum`:
/// their elements. Time: that of the parts where no two of few blocks overlap; else a bit for each
/// element of the box, and pairs of blocks, of which there are at most some millions.
Visible visible_parts(const std::vector<Overlap>& overlaps, const std::vector<Count>& box,
                      Count sum);

/// Local, no I/O. Elements of the box that are in any of these parts of it; a bit for each.
Count marked(const std::vector<Overlap>& overlaps, const std::vector<Count>& box);

}  // namespace forebay::process_group
