// Sets of ranks that keep parity for each other: no two ranks of a set are on one node, so a node
// that is lost takes at most one rank of each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay::checkpoint {

/// Returns the number of each rank's set. `node_of` has a number for each rank, which ranks of one
/// node share. Sets have 2 to `most` ranks (`most` at least 2), and their sizes differ by at most
/// one; of an odd number of ranks in pairs one set has 3. There are as few sets as that allows.
/// Empty: there is no such division, since more than half of the ranks are on one node. O(ranks log
/// ranks).
std::vector<int> parity_sets(std::span<const std::int64_t> node_of, int most);

}  // namespace forebay::checkpoint
