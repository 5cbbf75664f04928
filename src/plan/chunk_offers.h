// Which rank owns which chunk, where no rank knows who touches what: the rules of chunk_owners.h
// for chunks that are looked at in many places at once.
//
// Each chunk is offered to the rank that touches most of it. A rank takes from what it is offered,
// the largest work first, as long as its bytes outweigh the penalty of the work by which it exceeds
// its fair share; compared, as there, with a rank that has nothing to do. What is not taken is laid
// end to end, and so is the room that ranks have below their share: each chunk goes to the rank in
// whose room it begins. Offers are judged where they arrive; of all ranks only one number each has
// to be known, its load.
//
// What holds for every input, as there: no rank ends above share + the largest single work. What is
// lost: a chunk that its first rank does not take moves as a whole, even where another one touches
// some of it.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "plan/chunk_owners.h"

namespace forebay {

/// Of all chunks, equal on all ranks. Work is in any unit that all chunks share.
struct WorkTotals {
  Count work = 0, largest = 0;  ///< sum, and of the chunk that has most
  Count bytes = 0;
  int ranks = 1;

  Count share() const { return work / ranks + (work % ranks != 0); }  ///< of a rank, rounded up
};

struct ChunkOffer {
  Count work = 0;
  Count access = 0;  ///< bytes that the rank touches; a penalty is weighed against them
};

/// What one rank, which has nothing yet, takes of the chunks that it is offered; `load` becomes
/// their work. `offers` by decreasing work. Pure; O(offers).
std::vector<bool> take_offers(std::span<const ChunkOffer> offers, const WorkTotals& totals,
                              Count& load, const OwnerOptions& options = {});

/// The room that ranks have below their share, laid end to end in the order of ranks.
class Room {
 public:
  /// `loads`: one for each rank. O(ranks).
  Room(std::span<const Count> loads, const WorkTotals& totals);
  /// Who has room at a place: how much work that nobody took lies before. O(log ranks).
  Rank owner_at(Count place) const;

 private:
  std::vector<Count> end_;  // of each rank's room
};

}  // namespace forebay
