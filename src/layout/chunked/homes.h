// Owners of chunks, where ranks touch more than one of them could know: each chunk has a home, a
// rank by a hash of its number, where all that touch it tell. Homes offer chunks to the ranks that
// touch most of them (plan/chunk_offers.h), and tell all ranks what came of it.
#pragma once

#include <span>
#include <vector>

#include "comm/comm.h"
#include "layout/chunked/accesses.h"

namespace forebay::chunked {

/// Of `ranks`. Whatever pattern there is in variables and chunks, each is home to about equally
/// many.
Rank home_of(std::int32_t var, Count id, int ranks);

/// Collective. All chunks that any rank touches, by variable and id, with what every rank knows of
/// them: owner, touched, local, shared, flags, bytes; equal on all ranks. `mine` as for
/// gather_accesses. Memory: O(mine + chunks + ranks), and at a home what its chunks' ranks tell.
std::vector<PlannedChunk> plan_at_homes(const Comm& comm, std::span<const Access> mine,
                                        const CostOf& cost);

}  // namespace forebay::chunked
