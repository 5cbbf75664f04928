// What the leaders of all groups do with the maps of a case: each group's patterns are packed,
// noted and written, and the inverse maps made, one simulated group after the other.
#pragma once

#include <functional>
#include <vector>

#include "base/types.h"

namespace forebay::bench {

struct MapScale {
  Count runs = 0;   ///< of all patterns
  Count bytes = 0;  ///< of all data files, but for values
  std::int64_t inverses = 0;
  double seconds = 0;
};

/// A map of (columns) and one of (levels, columns), of `ranks` ranks with columns_of(rank) each, in
/// order. Every map gets an inverse, however few runs it has.
MapScale make_maps(int ranks, int groups, Count columns, Count levels,
                   const std::function<std::vector<Count>(int rank)>& columns_of);

}  // namespace forebay::bench
