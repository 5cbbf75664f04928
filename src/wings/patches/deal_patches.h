// Assigns owners to an operation's patches: each rank gets equally many, up to one, by the rule of
// plan/patch_distribution.h.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "comm/comm.h"
#include "layout/chunked/operation.h"

namespace forebay::patches {

/// Up to this sum of parts of patches and ranks, each rank plans for all in a few milliseconds,
/// which avoids some twenty collective steps.
constexpr std::size_t planned_alone = std::size_t{1} << 14;

/// Collective. Sets owner, local and shared of the chunks that are patches; others stay as they
/// are. `mine` are this rank's accesses. If op knows the accesses of all ranks, and accesses and
/// ranks add up to at most `alone` (equal on all ranks), each rank plans alone. The result does not
/// depend on `alone`.
void deal_patches(const Comm& comm, chunked::Operation& op, std::span<const chunked::Access> mine,
                  const std::function<bool(const chunked::PlannedChunk&)>& is_patch,
                  std::size_t alone = planned_alone);

}  // namespace forebay::patches
