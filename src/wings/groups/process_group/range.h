// Finds the least and largest values of a block, and sums on request, in one pass over its memory
// (Lofstead et al. 2009, §III.D.4).
//
// Only finite floating values count. Complex numbers and text have no order and no range.
#pragma once

#include <cstddef>
#include <span>

#include "groups/format/bp.h"

namespace forebay::process_group {

/// Returns whether blocks of this type have a range.
constexpr bool is_ordered(bp::Type type) { return to_engine(type) != Type::none; }

struct Range {
  bool any = false;  ///< false: no value counts, and `min` is above `max`
  bp::Value min{}, max{};
  bp::Moments moments;  ///< zeros unless asked for
};

enum class Measure : bool { bounds, moments };

/// Returns the range of elements, which need no alignment. No errors. Cost: memory speed.
Range range_of(bp::Type type, std::span<const std::byte> elements,
               Measure measure = Measure::bounds);
/// The same, and copies the elements to `to`, each part while it is in the cache.
Range copy_with_range(bp::Type type, std::span<const std::byte> elements, std::byte* to,
                      Measure measure = Measure::bounds);
/// Returns the range of the elements of both.
Range together(bp::Type type, const Range& a, const Range& b);

}  // namespace forebay::process_group
