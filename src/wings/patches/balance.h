// Which data file each chunk goes to, among files that are written at the same time (Fan et al.
// 2021, §IV-C). The rule is that of plan/balanced_files.h. All ranks know all sizes, which they
// need anyway to find places in files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/chunked/chunk_policy.h"

namespace forebay::patches {

/// Pure. The file of each chunk, from 0 to files - 1. Chunks of several variables, records or
/// components at one place stay together if their grids are equal. O(n log n).
std::vector<std::uint32_t> share_out(std::span<const chunked::SizedChunk> chunks, Count files);

}  // namespace forebay::patches
