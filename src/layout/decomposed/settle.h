// How a group's ranks agree on what a write adds to their data file (D6 §6.4.1, figure 6.3): blobs
// of one variable and record follow each other by rank, as a slab. They tell each other hashes of
// patterns and sizes, no more; the file's leader, the group's rank 0, allocates and notes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "comm/comm.h"
#include "layout/decomposed/data_file.h"
#include "layout/decomposed/part_plan.h"

namespace forebay::decomposed {

/// A blob: what one rank writes of one variable and record by one pattern.
struct Item {
  std::int32_t var = 0;
  std::uint32_t order = 0;  ///< among this rank's of that variable and record
  Count record = 0;
  Count elements = 0;
  Key pattern;

  auto place() const { return std::tuple(var, record, order); }
};

/// A slab that is to be encoded, so that nobody knows yet how large it becomes.
struct FreshSlab {
  Item first;             ///< whose place() is the slab's
  std::uint32_t map = 0;  ///< the leader knows it
  SlabToEncode data;
  std::optional<std::size_t> mine;  ///< this rank's blob, among its items
};

/// What a rank has for the leader alone: `along` goes with its items, and `left` so many bytes that
/// are too many for all to have.
struct ForLeader {
  std::vector<std::byte> along, left;
};

/// What each rank told the others.
struct ToldItems {
  std::vector<std::vector<Item>> of;  ///< by rank
  std::vector<bool> more;             ///< whether more items follow
  std::vector<std::byte> along;       ///< of all ranks
};
/// Local: what a rank tells, and what all told as a gathering brings it.
std::vector<std::byte> to_tell(std::span<const Item> items, bool more, const ForLeader& beside);
ToldItems told_by_all(std::span<const std::byte> bytes, std::span<const std::int64_t> sizes);
/// Needs no memory: whether some rank has more for the leader than went along.
bool any_left(std::span<const std::byte> bytes, std::span<const std::int64_t> sizes);

struct SlabRules {
  std::function<Count(VarId)> width;  ///< of an element, in bytes
  std::function<bool(VarId)> is_encoded;
  /// Collective over the group; the same slabs on all ranks. Writes them, and gives the leader's
  /// file their entries.
  std::function<void(std::span<const FreshSlab>)> encode;
};

/// Where a blob goes.
struct BlobPlace {
  static constexpr Offset encoded = -1;
  Offset offset = 0;  ///< `encoded`: it is written already
  Count padding = 0;  ///< zero bytes behind it: slabs begin at multiples of FileSpace::unit
};

struct Settled {
  std::vector<BlobPlace> places;  ///< of this rank's items
  std::uint32_t orders = 0;       ///< one more than any rank's highest order
  std::vector<std::byte> along;   ///< what all ranks had for the leader
  bool any_left = false;          ///< some rank has more for it
};

/// Collective over the group; to be called within `together`. `mine` is in order of place();
/// `beside` goes along with the first round. `ranks`: the group's, in the numbering of the job. The
/// leader has `file`, the others null. Goes in rounds, in each of which a rank holds about
/// `most_bytes` of what all told.
Settled settle(const Comm& group, std::span<const Item> mine, const ForLeader& beside,
               std::span<const Rank> ranks, Count most_bytes, const SlabRules& rules,
               DataFileWriter* file);

}  // namespace forebay::decomposed
