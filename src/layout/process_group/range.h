// Least and largest values of a block, and sums where they are asked for, in one pass over its
// memory (A §III.D.4).
//
// Of floating types only finite values count. Complex numbers and text have no order, and no range.
#pragma once

#include <cstddef>
#include <span>

#include "format/bp.h"

namespace forebay::process_group {

/// Whether blocks of this type have a range.
constexpr bool is_ordered(bp::Type type) { return to_engine(type) != Type::none; }

struct Range {
  bool any = false;  ///< false: no value counts; `min` is then above all of them, `max` below
  bp::Value min{}, max{};
  bp::Moments moments;  ///< zeros unless asked for
};

enum class Measure : bool { bounds, moments };

/// Of elements without alignment. Errors: none. Cost: memory speed.
Range range_of(bp::Type type, std::span<const std::byte> elements,
               Measure measure = Measure::bounds);
/// The same while they are copied to `to`, each part while it is in the cache.
Range copy_with_range(bp::Type type, std::span<const std::byte> elements, std::byte* to,
                      Measure measure = Measure::bounds);
/// Of the elements of both.
Range together(bp::Type type, const Range& a, const Range& b);

}  // namespace forebay::process_group
