#pragma once

#include <string>

#include "sizes/size_grid.h"

namespace forebay::bench {

/// Bytes that the values of a netCDF file take in it, by blocks of the domain: its last three
/// dimensions beside records, of the lengths that most elements have. Of variables in chunks or
/// patches each block gets of a chunk's bytes what it has of its elements; other variables, and
/// those of other shapes, do not count. std::invalid_argument where there are none, or the domain
/// has fewer elements along a dimension than the grid.
SizeGrid capture_sizes(const std::string& path, const Lengths& shape);

}  // namespace forebay::bench
