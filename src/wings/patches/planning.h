// The planners of patches over a communicator: notes of plan/patch_distribution.h and
// plan/balanced_files.h are carried by sparse exchanges, sums by meetings.
#pragma once

#include <span>
#include <vector>

#include "comm/comm.h"
#include "patches/plan/balanced_files.h"
#include "patches/plan/patch_distribution.h"

namespace forebay::patches {

/// Collective. Who owns the patches that this rank has parts of, and which it owns, by increasing
/// number, each once: `owner` is to get `parts` parts of `bytes` in all, its own among them if it
/// has one. Whatever ranks pass, each owns ⌊M/N⌋ or ⌈M/N⌉ of the M patches that anybody has a part
/// of. `mine` as for PatchDistribution::tell.
/// Costs at most 2·most_rounds + 5 exchanges. Memory: O(mine + patches at home here and their
/// parts).
std::vector<PatchVerdict> distribute_patches(const Comm& comm, std::span<const PatchPart> mine);

/// Collective. The file of each position that stands in `mine`, by increasing position, each once.
/// `positions` and `files` are the same on all ranks. Costs two exchanges.
std::vector<PatchFile> balance_files(const Comm& comm, std::span<const PatchSize> mine,
                                     Count positions, Count files);

}  // namespace forebay::patches
