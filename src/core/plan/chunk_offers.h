// Which rank owns which chunk if no rank knows all accesses: the rules of chunk_owners.h for chunks
// that are judged in many places at once.
//
// Each chunk is offered to the rank that touches most of it. A rank accepts offers, the largest
// work first, as long as the chunk's bytes outweigh the penalty for the work above its fair share;
// as in chunk_owners.h, it is compared with an idle rank. Chunks that are not accepted are laid end
// to end, and so is the room that ranks have below their share. Each such chunk goes to the rank in
// whose room it begins. Offers are judged where they arrive; ranks only need to share one number
// each, their load.
//
// For every input, no rank ends above share + the largest single work. What is lost: a chunk that
// its first rank rejects moves as a whole, even if another rank touches some of it.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "plan/chunk_owners.h"

namespace forebay {

/// Sums over all chunks, equal on all ranks. Work is in any unit that all chunks share.
struct WorkTotals {
  Count work = 0, largest = 0;  ///< the sum, and that of the largest chunk
  Count bytes = 0;
  int ranks = 1;

  Count share() const { return work / ranks + (work % ranks != 0); }  ///< of a rank, rounded up
};

struct ChunkOffer {
  Count work = 0;
  Count access = 0;  ///< bytes that the rank touches; they are weighed against the penalty
};

/// Which of its offers a rank without chunks accepts; `load` becomes their work. `offers` must be
/// in order of decreasing work. Pure; O(offers).
std::vector<bool> take_offers(std::span<const ChunkOffer> offers, const WorkTotals& totals,
                              Count& load, const OwnerOptions& options = {});

/// The room that ranks have below their share, laid end to end in the order of ranks.
class Room {
 public:
  /// `loads`: one for each rank. O(ranks).
  Room(std::span<const Count> loads, const WorkTotals& totals);
  /// The rank whose room contains a place, given as the unassigned work before it. O(log ranks).
  Rank owner_at(Count place) const;

 private:
  std::vector<Count> end_;  // of each rank's room
};

}  // namespace forebay
