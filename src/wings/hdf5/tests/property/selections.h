// Random selections, in files and in memory.
#pragma once

#include <vector>

#include "handles.h"
#include "support/rng.h"

namespace forebay_test {

// Indices [low, high) in each dimension.
struct Region {
  std::vector<hsize_t> low, high;
};
Region all_of(const std::vector<hsize_t>& dims);

// Whether points of a selection may come more than once.
enum class Points { Once, Repeated };

// A dataspace of `dims` with a selection within `region`: nothing, a box, a regular hyperslab with
// strides and blocks, hyperslabs put together by OR, AND, XOR and NOTB, or points in any order;
// some moved by H5Soffset_simple.
Id random_selection(Rng& rng, const std::vector<hsize_t>& dims, const Region& region,
                    Points points);

// A dataspace in memory that selects `count` elements: all of it, or some, or points in any order.
Id random_memory(Rng& rng, hsize_t count);

// The regions that `ranks` ranks may write: slabs of random, also no, thickness along one
// dimension. The same on every rank. A scalar belongs to one rank; the others have no region.
std::vector<Region> random_slabs(Rng& rng, const std::vector<hsize_t>& dims, int ranks);
bool is_empty(const Region& region);

}  // namespace forebay_test
