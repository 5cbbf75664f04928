// Plans which parts the slabs of a write are cut into, which rank encodes each, and in which round.
//
// The problem: slabs consist of many ranks' blobs, mostly small ones. A codec wants megabytes of
// neighbours, and readers want no more than they asked for. So a part ends at the end of a blob,
// once it has `least` bytes. A blob of more than `most` bytes is cut into parts of its own. The
// work of a round is distributed evenly: a part goes to the rank that has most of it, unless that
// rank has its share already; then it goes to the next rank that has less.
//
// A rank holds the parts that it encodes, the results, and what it sends. A round ends before any
// of these exceeds `round_bytes`, unless a single part is larger.
//
// All ranks of a group make the same plan from exchanged sizes. There is no communication here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {

struct PartLimits {
  Count least = 1 << 20, most = 4 << 20;
  Count round_bytes = 8 << 20;
};

/// A slab to be encoded. Its blobs are in the order of ranks.
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

/// One rank's share of a part.
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
  std::vector<Share> shares;       ///< part after part
  std::uint32_t rounds = 0;

  std::span<const Share> of(const PlannedPart& part) const {
    return std::span(shares).subspan(part.first_share, part.shares);
  }
  /// The parts of a round.
  std::span<const PlannedPart> round(std::uint32_t number) const;
};

/// Local. Plans for a group of `ranks`.
PartPlan plan_parts(std::span<const SlabToEncode> slabs, int ranks, const PartLimits& limits);

}  // namespace forebay::decomposed
