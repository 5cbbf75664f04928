// How chunks reach the ranks that read them (Hou 2023, §5.2.7), chosen per variable.
//
// The problem: several ranks may read from one chunk. Either its owner reads and decodes it once
// and sends each rank its part (PnetCDF's way in the paper), or each rank reads and decodes every
// chunk that it touches (HDF5's way). The paper found patterns for which each is faster: forwarding
// if many ranks share chunks; reading alone if a rank has chunks of its own (FLASH, §5.5.2), or if
// the sharing ranks would be idle while one decodes (checkerboard, §5.5.1). Both follow from one
// model of time:
//
//     owners:    decode(busiest owner, distinct bytes) + moved bytes a rank / rate + setup
//     everyone:  decode(busiest rank, repeated bytes)
//
//     decode(busiest, all) = max(busiest, all / min(ranks, processors)) × seconds a byte
//
// All ranks wait for the busiest one, and ranks that share a processor take turns. Rates are round
// figures for one current core; only their ratio matters.
#pragma once

#include "base/types.h"

namespace forebay {

/// One read of one variable over all ranks. Bytes of chunks are decoded bytes.
struct ReadFacts {
  Count distinct_bytes = 0;  ///< of all chunks that some rank touches
  Count repeated_bytes = 0;  ///< of the chunks that each rank touches, summed over ranks
  Count moved_bytes = 0;     ///< bytes that ranks would receive from other owners
  double decode_work = 0;    ///< for a byte, relative to encoding it with deflate:6 (Pipeline)
  int ranks = 1;

  // These may stay 0 if unknown; the work then counts as spread evenly.
  Count busiest_owner_bytes = 0;  ///< chunk bytes of the owner with most bytes
  Count busiest_rank_bytes = 0;   ///< chunk bytes of the rank that touches most bytes
  int processors = 0;             ///< number that the ranks share; 0: one for each rank
};

enum class ReadPlan {
  owners,   ///< the owner of a chunk reads it and sends the parts
  everyone  ///< each rank reads what it needs
};

/// The time of a plan by the model above, in seconds. Never negative; finite if counts are not
/// negative and decode_work is finite.
double read_seconds(ReadPlan plan, const ReadFacts& facts);

/// The faster plan; `everyone`, which needs no exchange, if both are equal. All ranks must pass the
/// same facts to get the same plan.
ReadPlan choose_read_plan(const ReadFacts& facts);

}  // namespace forebay
