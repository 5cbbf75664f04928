// Owners of chunks if there are too many accesses for one rank to know. Each chunk has a home, a
// rank found by hashing its number. All ranks that touch the chunk send their access to its home.
// Homes offer chunks to the ranks that touch most of them (plan/chunk_offers.h), and send the
// result to all ranks.
#pragma once

#include <span>
#include <vector>

#include "comm/comm.h"
#include "layout/chunked/accesses.h"

namespace forebay::chunked {

/// The home among `ranks` ranks. Each is home to about equally many chunks, whatever the pattern of
/// variables and chunks.
Rank home_of(std::int32_t var, Count id, int ranks);

/// Collective. All chunks that any rank touches, by variable and id, with owner, touched, local,
/// shared, flags and bytes; equal on all ranks. `mine` is as for gather_accesses. Memory: O(mine +
/// chunks + ranks), and at a home the accesses of its chunks.
std::vector<PlannedChunk> plan_at_homes(const Comm& comm, std::span<const Access> mine,
                                        const CostOf& cost);

}  // namespace forebay::chunked
