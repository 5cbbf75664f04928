// Which data file each chunk goes to, among files that are written at the same time (Fan et al.
// 2021, §IV-C). Ranks that own chunks know their sizes, and find the files by
// plan/balanced_files.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/comm.h"
#include "layout/chunked/chunk_policy.h"

namespace forebay::patches {

/// Collective. The file of each of this rank's chunks, from 0 to files - 1. `written` and `files`
/// are equal on all ranks. Chunks of several variables, records or components at one place stay
/// together if their grids are equal. Costs what balance_files() costs.
std::vector<std::uint32_t> share_out(const Comm& comm,
                                     std::span<const chunked::WrittenVariable> written,
                                     std::span<const chunked::SizedChunk> mine, Count files);

}  // namespace forebay::patches
