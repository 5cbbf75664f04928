// Where the index of one step lies in md.0, computed from sums over ranks: no rank gathers it.
//
//     groups       head, then of each rank that has a group its entry, all of one size
//     variables    head, then for each variable its head, then its blocks' entries
//     attributes   head, then the attributes
//
// Entries of a variable stand in the order of ranks: a rank's begin behind those of the ranks
// below, whose bytes an exclusive scan adds up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "format/bp.h"

namespace forebay::process_group {

/// What stands in the index of one name in this step, over all ranks.
struct NameSums {
  Count head_bytes = 0;  ///< of a variable; attributes have none
  std::int64_t bytes = 0, entries = 0;
};

struct IndexPlan {
  bp::StepRecord record;                        ///< places alone
  std::vector<Offset> heads;                    ///< of each name; none where it has no entries
  std::vector<Offset> entries;                  ///< of its first entry
  std::uint32_t variables = 0, attributes = 0;  ///< that have entries
  static constexpr Offset none = -1;
};

/// `begin`: where it begins in md.0; `group_bytes`: of all groups' entries; `names`: variables,
/// then from `first_attribute` on attributes. Errors: Errc::eintoverflow. No MPI, no I/O; linear in
/// names.
IndexPlan plan_index(Offset begin, Count group_bytes, std::span<const NameSums> names,
                     std::size_t first_attribute);

}  // namespace forebay::process_group
