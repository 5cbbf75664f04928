// How many data files the ranks of a BP4 file share where nobody says (layout=auto): ranks that
// write one file wait for its lock, and many small files are a burden of their own.
#pragma once

#include "base/types.h"

namespace forebay::process_group {

constexpr int most_spread_files = 64;  ///< on one node; so many a reader keeps open

/// How many ranks share a file, as WriteOptions::ranks_per_file has it: the fewest of which each
/// file has 512 KiB in a step of `step_bytes` of all ranks, and that make no more than 64 files;
/// from a node's ranks on, of which the largest has `node_ranks`, a file for each node, where that
/// has as much; else one for all.
int spread_of(Count step_bytes, int ranks, int node_ranks);

}  // namespace forebay::process_group
