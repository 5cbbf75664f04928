// The places of one step's index in md.0, computed from sums over ranks. No rank gathers the index.
//
//     groups       head, then one entry for each rank that has a group, all of one size
//     variables    head, then for each variable its head, then its blocks' entries
//     attributes   head, then the attributes
//
// Entries of a variable are in the order of ranks. A rank's entries begin behind those of lower
// ranks, whose bytes come from an exclusive scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"
#include "groups/format/bp_write.h"
#include "groups/process_group/name_catalogue.h"

namespace forebay::process_group {

/// Bytes and their place in a file.
struct FilePiece {
  Offset at;
  std::span<const std::byte> bytes;
};

/// The place of earlier steps' entries in the index: of groups, or of one name.
struct IndexList {
  Offset at = 0;  ///< counted from where the index begins
  Count bytes = 0;
  std::int64_t entries = 0;
};

/// What the index of this step has for one name, over all ranks.
struct NameSums {
  Count head_bytes = 0;  ///< of a variable; attributes have none
  std::int64_t bytes = 0, entries = 0;
  Count earlier = 0;  ///< part of `bytes`: entries of earlier steps, which come first
};

struct IndexPlan {
  bp::StepRecord record;                        ///< only its places are set
  std::vector<Offset> heads;                    ///< of each name; `none` for a name without entries
  std::vector<Offset> entries;                  ///< place of each name's first entry
  std::uint32_t variables = 0, attributes = 0;  ///< that have entries
  static constexpr Offset none = -1;
};

/// Returns the places of the parts of a step's index, which begins at `begin`. `group_bytes` is the
/// size of all groups' entries. `names` has variables, then from `first_attribute` on attributes.
/// Errc::eintoverflow. No MPI, no I/O. The cost is linear in names.
IndexPlan plan_index(Offset begin, Count group_bytes, std::span<const NameSums> names,
                     std::size_t first_attribute);

/// Sums over ranks for a step: bytes of groups in data.K, number of groups, and then for each name
/// of its index the bytes and the number of its entries.
struct RankSums {
  static constexpr std::size_t group_bytes = 0, groups = 1;
  static constexpr std::size_t of_name(std::size_t n) { return 2 + 2 * n; }

  std::vector<std::int64_t> mine, before, total;  ///< this rank's; of the ranks below; of all
  /// Bytes of groups in this rank's data.K: of lower ranks, and of all ranks that share it. Empty
  /// until they are added up.
  std::optional<std::pair<Count, Count>> in_file;

  void start(std::size_t names) {
    mine.assign(of_name(names), 0);
    total = mine;
  }
  void add_entry(std::size_t n, std::size_t bytes) {
    mine[of_name(n)] += static_cast<std::int64_t>(bytes);
    ++mine[of_name(n) + 1];
  }
};

/// The index of one step.
struct StepIndex {
  std::vector<std::size_t> names;   ///< places in the catalogue; attributes last
  std::size_t first_attribute = 0;  ///< in `names`
  RankSums sums;
  Count group_bytes = 0;  ///< of a group's entry
  NameSums groups;        ///< of all groups, also earlier ones
  std::vector<NameSums> of_names;
  IndexPlan plan;

  /// Takes the names of the catalogue for which leaves_out(place) is false. Returns for each place
  /// in the catalogue the place in `names`.
  template <typename F>
  std::vector<std::size_t> take_names(const Catalogue& known, F&& leaves_out) {
    std::vector<std::size_t> places(known.size());
    for (const bool attributes : {false, true}) {
      if (attributes) first_attribute = names.size();
      for (std::size_t n = 0; n < known.size(); ++n) {
        if ((known[n].kind == Kind::attribute) != attributes || leaves_out(n)) continue;
        places[n] = names.size();
        names.push_back(n);
      }
    }
    sums.start(names.size());
    return places;
  }
};

/// The part of a step's index that a rank writes, in file order.
struct IndexPieces {
  bp::Bytes heads, groups;
  std::vector<FilePiece> pieces;  ///< of `heads`, `groups`, and entries
};

/// Returns this rank's part of a step's index. `groups` are the entries of its groups. `blocks` and
/// `attributes` are entries in the order of step.names; they must stay valid until the pieces are
/// written. One rank writes the heads (`with_heads`). No MPI, no I/O.
IndexPieces pieces_of(const StepIndex& step, const Catalogue& known, bp::Form form, bool with_heads,
                      bp::Bytes groups, std::span<const std::byte> blocks,
                      std::span<const std::byte> attributes);

}  // namespace forebay::process_group
