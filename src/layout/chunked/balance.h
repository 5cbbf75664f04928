// Which data file each chunk goes to, of those that are written at the same time (H §IV-C): as
// plan/balanced_files.h says, where all sizes are known to all ranks, as places in files ask for
// anyway.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "array/chunk_grid.h"
#include "array/schema.h"

namespace forebay::chunked {

/// An encoded chunk: all of its parts.
struct SizedChunk {
  const Variable* var;
  const ChunkGrid* grid;
  Count id = 0;
  Count bytes = 0;
};

/// Pure. The file of each, from 0 to files - 1. Chunks of several variables, records or components
/// at one place of grids that are cut alike stay together. O(n log n).
std::vector<std::uint32_t> share_out(std::span<const SizedChunk> chunks, Count files);

}  // namespace forebay::chunked
