// Owners of an operation's patches: as many for each rank as for all others but for one, by the
// rule of plan/patch_distribution.h.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "comm/comm.h"
#include "layout/chunked/operation.h"

namespace forebay::chunked {

/// Of so many parts of patches and ranks together a rank plans for all in a few milliseconds, where
/// it would meet the others some twenty times otherwise.
constexpr std::size_t planned_alone = std::size_t{1} << 14;

/// Collective. Gives the chunks that are patches their owner, local and shared; others keep theirs.
/// `mine` are this rank's accesses. Each rank plans alone where op knows the accesses of all, and
/// they and the ranks are no more than `alone`, which is the same on all ranks: by itself it
/// changes nothing.
void deal_patches(const Comm& comm, Operation& op, std::span<const Access> mine,
                  const std::function<bool(const PlannedChunk&)>& is_patch,
                  std::size_t alone = planned_alone);

}  // namespace forebay::chunked
