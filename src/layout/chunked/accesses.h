// Who touches which chunk, agreed on by all ranks (D5 §5.2.5, §5.3), and in which rounds the chunks
// are worked on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "comm/comm.h"
#include "plan/chunk_owners.h"

namespace forebay::chunked {

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

/// Collective. The accesses of all ranks, sorted by variable, chunk, rank; equal on every rank.
/// `mine`: this rank's, by variable and chunk, each once. When there are more than `most` in all,
/// only the `candidates` largest of each chunk are kept (the first one's flags hold the or of all):
/// what one rank holds does not grow with ranks × chunks then.
std::vector<Access> gather_accesses(const Comm& comm, std::vector<Access> mine,
                                    Count most = 1 << 18, std::size_t candidates = 8);

/// Set by gather_accesses on every entry when some were dropped: nobody knows who else touches a
/// chunk then.
constexpr std::int64_t list_is_cut = 2;

/// A chunk that some rank touches.
struct PlannedChunk {
  std::int32_t var = 0;
  Count id = 0;
  Count bytes = 0;
  Count touched = 0;  ///< sum over ranks; where it equals bytes, likely all of the chunk

  std::int64_t flags = 0;  ///< or of those of its accesses
  Rank owner = 0;
  bool shared = true;  ///< its buffer is in the node's memory; otherwise only its owner touches it
  std::uint32_t round = 0;
  std::size_t buffer = 0;  ///< where its bytes are in its owner's node's memory during its round
};

struct RoundLimits {
  Count owned = 0;           ///< chunk bytes that an owner holds at a time, encoded or not
  Count shared = 0;          ///< of these, bytes of chunks that are shared
  Count sent = 0;            ///< bytes that a rank has on their way to others
  bool owners_send = false;  ///< they send (reads), not those who touch their chunks (writes)
};

/// Puts chunks into rounds within the limits such that owners have about equally much to do in
/// each; a single chunk may exceed them. Every owner's chunks stay in order. Returns the number of
/// rounds. accesses[i] belongs to chunks[accesses[i].chunk]; sorted by chunk.
/// O(chunks log chunks + accesses).
std::uint32_t plan_rounds(std::span<PlannedChunk> chunks, std::span<const ChunkAccess> accesses,
                          int ranks, const RoundLimits& limits);

}  // namespace forebay::chunked
