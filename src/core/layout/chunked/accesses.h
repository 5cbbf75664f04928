// Which rank touches which chunk, as all ranks know it (Hou 2023, §5.2.5, §5.3), and in which
// rounds the chunks are processed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/types.h"
#include "comm/comm.h"
#include "plan/chunk_owners.h"

namespace forebay::chunked {

/// Size and work of a chunk; equal on all ranks.
using CostOf = std::function<ChunkWork(VarId var, Count id)>;

/// The part of one chunk that one rank's requests touch.
struct Access {
  std::int32_t var = 0;
  Rank rank = 0;
  Count id = 0;     ///< of the chunk, in its variable
  Count bytes = 0;  ///< touched
  /// bit 0: one request covers the whole chunk. The caller uses the other bits.
  std::int64_t flags = 0;
};
constexpr std::int64_t covers_chunk = 1;
/// By variable, chunk, rank.
inline bool comes_before(const Access& a, const Access& b) {
  return std::tie(a.var, a.id, a.rank) < std::tie(b.var, b.id, b.rank);
}

/// Collective. The accesses of all ranks, sorted by variable, chunk, rank; equal on every rank.
/// Nothing if they take more than `most_bytes` in all (see homes.h). `mine` are this rank's, by
/// variable and chunk, without duplicates.
std::optional<std::vector<Access>> gather_accesses(const Comm& comm, std::span<const Access> mine,
                                                   Count most_bytes);

/// A chunk that some rank touches.
struct PlannedChunk {
  std::int32_t var = 0;
  Count id = 0;
  Count bytes = 0;
  Count touched = 0;  ///< sum over ranks; if it equals bytes, probably the whole chunk
  Count local = 0;    ///< the owner's part of that

  std::int64_t flags = 0;  ///< OR of the flags of its accesses
  Rank owner = 0;
  bool shared = true;   ///< in the node's shared memory; otherwise only its owner touches it
  bool native = false;  ///< its buffer has elements in the machine's byte order
  std::uint32_t round = 0;
  std::size_t buffer = 0;  ///< position in the memory of its owner's node during its round

  Count moved() const { return touched - local; }  ///< between its owner and the others
};

struct RoundLimits {
  Count owned = 0;           ///< bytes of chunks that an owner holds at a time, encoded or not
  Count shared = 0;          ///< of these, bytes of shared chunks
  Count sent = 0;            ///< bytes of a rank's messages that are being sent
  bool owners_send = false;  ///< reads: owners send; writes: the ranks that touch their chunks
};

/// The accesses that a rank knows; access.chunk is an index of `chunks`. Sorted by chunk, then
/// rank.
struct KnownAccesses {
  std::span<const ChunkAccess> list;
  /// If `list` only has this rank's own accesses: the ranks that have the others. Null if it has
  /// those of all ranks.
  const Comm* others = nullptr;
};

/// Distributes chunks over rounds within the limits, so that owners have about equal work in each.
/// A single chunk may exceed the limits. Every owner's chunks stay in order. Returns the number of
/// rounds, equal on all ranks. Collective if not all accesses are known: usually one or two
/// reductions for each round in which more than `sent` bytes move in all; more if it moves many
/// times as much as the round before. O(chunks log chunks + accesses + ranks × rounds). `visits`,
/// for tests, counts how often chunks were visited.
std::uint32_t plan_rounds(std::span<PlannedChunk> chunks, const KnownAccesses& accesses, int ranks,
                          const RoundLimits& limits, std::size_t* visits = nullptr);

}  // namespace forebay::chunked
