// Chooses the number of data files of a BP4 file if the user does not (layout=auto). Ranks that
// write one file wait for its lock, and many small files cost time, too.
#pragma once

#include "base/types.h"

namespace forebay::process_group {

constexpr int most_spread_files = 64;  ///< on one node; a reader keeps as many open

/// Returns how many ranks share a file, in terms of WriteOptions::ranks_per_file. It is the
/// smallest number that gives each file 512 KiB of a step of `step_bytes` over all ranks, with at
/// most 64 files. If that number reaches `node_ranks`, the ranks of the largest node, it is one
/// file per node if these get as much; otherwise one file for all.
int spread_of(Count step_bytes, int ranks, int node_ranks);

}  // namespace forebay::process_group
