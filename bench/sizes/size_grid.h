// Bytes that ranks of a run have after compression, on a grid of blocks, and what ranks of a larger
// run would have (H §V-C): a size-extrapolating benchmark needs no field of that size.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/types.h"

namespace forebay::bench {

using Lengths = std::array<Count, 3>;  ///< slowest first

struct SizeGrid {
  Lengths shape{};
  std::vector<double> bytes;  ///< of each block, row-major
  std::string source;         ///< what they are of, in words

  double at(const Lengths& block) const {
    return bytes[static_cast<std::size_t>((block[0] * shape[1] + block[1]) * shape[2] + block[2])];
  }
};

/// "8x8x8", slowest first. std::invalid_argument for what is none, or has a length below 1.
Lengths parse_lengths(const std::string& text);

/// As text, and back. std::invalid_argument for what cannot be: other numbers than the shape says,
/// negative ones, more than 2^24 blocks.
std::string print(const SizeGrid& grid);
SizeGrid parse_size_grid(const std::string& text);

/// The size at a block of a grid of `shape` blocks over the same domain: trilinear between the
/// middles of the grid's own blocks; beyond the outermost ones as there.
double size_at(const SizeGrid& grid, const Lengths& shape, const Lengths& block);

}  // namespace forebay::bench
