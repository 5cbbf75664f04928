// The ranks of a group agree on what a write adds to their data file (Hou 2023, §6.4.1, figure
// 6.3). The blobs of one variable and record form a slab, ordered by rank. Ranks exchange only
// hashes of patterns, and sizes. The leader of the file, which is rank 0 of the group, allocates
// and records the places.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "comm/comm.h"
#include "decomposed/data_file.h"
#include "decomposed/part_plan.h"

namespace forebay::decomposed {

/// A blob: what one rank writes to one variable and record by one pattern.
struct Item {
  std::int32_t var = 0;
  std::uint32_t order = 0;  ///< among this rank's blobs of this variable and record
  Count record = 0;
  Count elements = 0;
  Key pattern;

  auto place() const { return std::tuple(var, record, order); }
};

/// A slab that is still to be encoded. Its size is not known yet.
struct FreshSlab {
  Item first;             ///< its place() is that of the slab
  std::uint32_t map = 0;  ///< valid on the leader
  SlabToEncode data;
  std::optional<std::size_t> mine;  ///< index of this rank's blob among its items
};

/// Bytes from a rank for the leader alone. `along` is gathered with the items. `left` is too long
/// to be gathered on all ranks.
struct ForLeader {
  std::vector<std::byte> along, left;
};

/// The gathered items of all ranks.
struct ToldItems {
  std::vector<std::vector<Item>> of;  ///< by rank
  std::vector<bool> more;             ///< whether more items follow
  std::vector<std::byte> along;       ///< of all ranks
};
/// Local. These encode one rank's contribution, and decode the gathered ones.
std::vector<std::byte> to_tell(std::span<const Item> items, bool more, const ForLeader& beside);
ToldItems told_by_all(std::span<const std::byte> bytes, std::span<const std::int64_t> sizes);
/// Returns whether some rank has bytes `left` for the leader. Needs no memory.
bool any_left(std::span<const std::byte> bytes, std::span<const std::int64_t> sizes);

struct SlabRules {
  std::function<Count(VarId)> width;  ///< of an element, in bytes
  std::function<bool(VarId)> is_encoded;
  /// Collective over the group; all ranks pass the same slabs. Writes the slabs, and adds their
  /// entries to the leader's file.
  std::function<void(std::span<const FreshSlab>)> encode;
};

/// The place of a blob in the data file.
struct BlobPlace {
  static constexpr Offset encoded = -1;
  Offset offset = 0;  ///< `encoded`: the blob is written already
  Count padding = 0;  ///< zero bytes after it; slabs begin at multiples of FileSpace::unit
};

struct Settled {
  std::vector<BlobPlace> places;  ///< of this rank's items
  std::uint32_t orders = 0;       ///< one more than the highest order on any rank
  std::vector<std::byte> along;   ///< from all ranks, for the leader
  bool any_left = false;          ///< some rank has bytes `left`
};

/// Collective over the group; to be called within `together`. `mine` is in order of place().
/// `beside` is gathered in the first round. `ranks` are the group's ranks, numbered as in the job.
/// The leader passes `file`, the others null. It works in rounds, and in each a rank holds about
/// `most_bytes` of gathered items.
Settled settle(const Comm& group, std::span<const Item> mine, const ForLeader& beside,
               std::span<const Rank> ranks, Count most_bytes, const SlabRules& rules,
               DataFileWriter* file);

}  // namespace forebay::decomposed
