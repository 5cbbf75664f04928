// Which parts the slabs of a write are cut into, which rank encodes which, and in which round.
//
// The problem: slabs are of many ranks' blobs, mostly small ones; a codec wants neighbours by the
// megabyte, and readers want no more than they asked for. So parts end where blobs end, once they
// have `least` bytes; a blob of more than `most` is cut into parts of its own. The work of a round
// is dealt out evenly: a part goes to the rank that has most of it, while that has no more than its
// share, and else to the next one that has less.
//
// A rank holds the parts that it encodes, what it made of them, and what it sends: rounds end
// before any of these is more than `round_bytes` (but for a part that is larger by itself).
//
// All ranks of a group plan the same from what they told each other: no communication here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "format/decomposed.h"

namespace forebay::decomposed {

struct PartLimits {
  Count least = 1 << 20, most = 4 << 20;
  Count round_bytes = 8 << 20;
};

/// A slab to be encoded: blobs in the order of ranks.
struct SlabToEncode {
  struct Blob {
    Rank rank;  ///< in the group
    Count elements;
    Key pattern = {};
  };
  std::int32_t var = 0;
  Count width = 1;  ///< bytes of an element
  std::vector<Blob> blobs;
};

/// What one rank has of a part.
struct Share {
  Rank rank;
  Count first, elements;  ///< of its blob
};

struct PlannedPart {
  std::size_t slab = 0;
  Count elements = 0, bytes = 0;
  Rank encoder = 0;
  std::uint32_t round = 0;
  std::size_t first_share = 0, shares = 0;
};

struct PartPlan {
  std::vector<PlannedPart> parts;  ///< by round, slab and place
  std::vector<Share> shares;       ///< of one part after another
  std::uint32_t rounds = 0;

  std::span<const Share> of(const PlannedPart& part) const {
    return std::span(shares).subspan(part.first_share, part.shares);
  }
  /// The parts of a round.
  std::span<const PlannedPart> round(std::uint32_t number) const;
};

/// Local. For a group of `ranks`.
PartPlan plan_parts(std::span<const SlabToEncode> slabs, int ranks, const PartLimits& limits);

}  // namespace forebay::decomposed
