// Who touches which chunk, agreed on by all ranks (D5 §5.2.5, §5.3), and in which rounds the chunks
// are worked on.
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

/// Size and work of a chunk; the same on all ranks.
using CostOf = std::function<ChunkWork(VarId var, Count id)>;

/// What one rank's requests touch of one chunk.
struct Access {
  std::int32_t var = 0;
  Rank rank = 0;
  Count id = 0;     ///< of the chunk, in its variable
  Count bytes = 0;  ///< touched
  /// bit 0: one request covers all of the chunk. Further bits are the caller's.
  std::int64_t flags = 0;
};
constexpr std::int64_t covers_chunk = 1;
/// By variable, chunk, rank.
inline bool comes_before(const Access& a, const Access& b) {
  return std::tie(a.var, a.id, a.rank) < std::tie(b.var, b.id, b.rank);
}

/// Collective. The accesses of all ranks, sorted by variable, chunk, rank; equal on every rank.
/// None where they take more than `most_bytes` in all (then: homes.h). `mine`: this rank's, by
/// variable and chunk, each once.
std::optional<std::vector<Access>> gather_accesses(const Comm& comm, std::span<const Access> mine,
                                                   Count most_bytes);

/// A chunk that some rank touches.
struct PlannedChunk {
  std::int32_t var = 0;
  Count id = 0;
  Count bytes = 0;
  Count touched = 0;  ///< sum over ranks; where it equals bytes, likely all of the chunk
  Count local = 0;    ///< of these, by the owner

  std::int64_t flags = 0;  ///< or of those of its accesses
  Rank owner = 0;
  bool shared = true;   ///< its buffer is in the node's memory; otherwise only its owner touches it
  bool native = false;  ///< in its buffer elements are in the machine's order
  std::uint32_t round = 0;
  std::size_t buffer = 0;  ///< where its bytes are in its owner's node's memory during its round

  Count moved() const { return touched - local; }  ///< between its owner and the others
};

struct RoundLimits {
  Count owned = 0;           ///< chunk bytes that an owner holds at a time, encoded or not
  Count shared = 0;          ///< of these, bytes of chunks that are shared
  Count sent = 0;            ///< bytes that a rank has on their way to others
  bool owners_send = false;  ///< they send (reads), not those who touch their chunks (writes)
};

/// What a rank knows of the accesses to chunks[access.chunk]; sorted by chunk, then rank.
struct KnownAccesses {
  std::span<const ChunkAccess> list;
  /// Where `list` has this rank's own accesses alone: the ranks that have the others. Null where it
  /// has those of all ranks.
  const Comm* others = nullptr;
};

/// Puts chunks into rounds within the limits such that owners have about equally much to do in
/// each; a single chunk may exceed them. Every owner's chunks stay in order. Returns the number of
/// rounds, the same on all ranks. Collective where accesses are not all known: one or two meetings
/// as a rule for each round in which more than `sent` moves in all; more where it moves many times
/// what the round before did. O(chunks log chunks + accesses + ranks × rounds). `visits`, for
/// tests, gets how often a chunk was looked at.
std::uint32_t plan_rounds(std::span<PlannedChunk> chunks, const KnownAccesses& accesses, int ranks,
                          const RoundLimits& limits, std::size_t* visits = nullptr);

}  // namespace forebay::chunked
