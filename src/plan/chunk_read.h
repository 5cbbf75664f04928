// How chunks reach the ranks that read them (D5 §5.2.7), chosen per variable.
//
// The problem: several ranks may read from one chunk. Either its owner reads and decodes it once
// and forwards to each rank its part (PnetCDF's way in the paper), or each rank reads and decodes
// every chunk that it touches (HDF5's way). The paper measured each to win on some pattern:
// forwarding where chunks are shared by many, each for itself where a rank reads chunks of its own
// (FLASH, §5.5.2) or where the sharing ranks would sit idle while one of them decodes
// (checkerboard, §5.5.1). Both follow from one model of time:
//
//     owners:    decode(busiest owner, distinct bytes) + moved bytes a rank / rate of moving +
//     setup everyone:  decode(busiest rank, repeated bytes)
//
//     decode(busiest, all) = max(busiest, all / min(ranks, processors)) × seconds a byte
//
// All ranks wait for the busiest one, and processors shared by several ranks do their work in turn.
// Rates are round figures of one current core; what matters is their ratio.
#pragma once

#include "base/types.h"

namespace forebay {

/// One read of one variable over all ranks. Chunk bytes are counted decoded.
struct ReadFacts {
  Count distinct_bytes = 0;  ///< of all chunks that anybody touches
  Count repeated_bytes = 0;  ///< of the chunks that a rank touches, summed over ranks
  Count moved_bytes = 0;     ///< what ranks would get from owners other than themselves
  double decode_work = 0;    ///< of a byte, relative to encoding it with deflate:6 (Pipeline)
  int ranks = 1;

  // What is not known may stay 0: the work then counts as spread evenly.
  Count busiest_owner_bytes = 0;  ///< chunk bytes of the owner that has most of them
  Count busiest_rank_bytes = 0;   ///< chunk bytes of the rank that touches most of them
  int processors = 0;             ///< that the ranks share; 0: one each
};

enum class ReadPlan {
  owners,   ///< the owner of a chunk reads it and forwards the parts
  everyone  ///< each rank reads what it needs
};

/// Seconds that a plan takes by the model above. Never negative; finite for all facts whose counts
/// are not negative and whose decode_work is finite.
double read_seconds(ReadPlan plan, const ReadFacts& facts);

/// The plan that takes less time; `everyone`, which needs no exchange, where both take the same.
/// All ranks must pass the same facts, since they must come to the same plan.
ReadPlan choose_read_plan(const ReadFacts& facts);

}  // namespace forebay
