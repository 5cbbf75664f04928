// Which rank owns which chunk (D5 §5.2.5), for all chunks of all queued requests of all variables
// at once (D5 §5.3).
//
// The problem: the owner of a chunk encodes (or decodes) it, holds its buffer and moves its bytes
// to and from storage; every other rank that touches the chunk exchanges its part with the owner.
// Give each chunk an owner so that little moves between ranks, and no rank has much more work than
// its share, since all wait for the busiest.
//
// The paper gives a chunk to the rank with the highest preference score
//
//     score(r, k) = access(r, k) − penalty × (all that r owns already),
//
// where access(r, k) is the number of bytes of chunk k that rank r touches. That penalty disturbs
// patterns that are balanced by themselves: a rank that has got three of its own five chunks loses
// the fourth to an idle rank, although that rank's own chunks are still to come, and what goes
// where depends on the order of visiting. Here only that work counts by which a rank would exceed
// its fair share of all work:
//
//     score(r, k) = access(r, k) − penalty × max(0, load(r) + work(k) − share).
//
// share is the level up to which the new work fills the ranks, on top of what they hold from
// before. So nothing moves where every rank has its own chunks and about equally many; and where
// there are fewer large chunks than ranks, share is below a single one of them, and each goes to
// another rank. Chunks are visited from the largest work to the smallest, so that the small ones
// even out what the large ones leave.
//
// What holds for every input, whatever the penalty: no rank ends above share + the largest single
// work (unless it was there before); share is at most the mean over ranks. Of two ranks that score
// equally, the one with more access wins, then the one with less load, then the lower one.
//
// Pure and deterministic: ranks that pass equal arguments get equal owners, given that they run the
// same program on the same kind of processor (the score is in floating point, evaluated in a fixed
// order).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

/// One chunk of any variable.
struct ChunkWork {
  Count bytes;  ///< before encoding
  double work;  ///< time to encode (or decode) it, in any unit that all chunks share; finite, >= 0
};

/// What one rank touches of one chunk: the access size of D5 §5.2.5.
struct ChunkAccess {
  std::uint32_t chunk;  ///< position in the list of chunks
  Rank rank;
  Count bytes;  ///< of the chunk's bytes, those in the rank's requests
};

struct OwnerOptions {
  /// How many bytes moved are as bad as one byte's worth of work on the busiest rank. Moving runs
  /// at about 2 GB/s; zstd encodes at some 300 MB/s, deflate at 75 MB/s: 7 to 27. The default is
  /// lower since work is only estimated.
  double penalty = 4;
};

/// The owner of each chunk.
///
/// `accesses` is sorted by chunk, then rank, each pair once. It need not be complete: a caller that
/// cannot hold all of it keeps, of each chunk, the entries with the most bytes; chunks without
/// entries go to idle ranks. `load_before` is the work that each rank holds already (buffers of
/// chunks from before), one entry per rank, or empty for none.
/// Errc::einternal when an argument breaks these rules.
///
/// O(accesses + chunks log chunks + chunks log ranks + ranks), and ranks log ranks with
/// `load_before`. Memory: a few words for each chunk and rank.
std::vector<Rank> assign_owners(std::span<const ChunkWork> chunks,
                                std::span<const ChunkAccess> accesses, int ranks,
                                std::span<const double> load_before = {},
                                const OwnerOptions& options = {});

/// What an assignment costs.
struct OwnerFacts {
  Count bytes_moved = 0;  ///< accessed by another rank than the owner
  Count bytes_local = 0;  ///< accessed by the owner
  double busiest = 0;     ///< work of the rank that has most, with what it held before
  double mean = 0;        ///< the same over all ranks
};

/// Facts of any assignment, for reports, tests and simulation. `owners` has one entry per chunk.
/// Errc::einternal as assign_owners. O(accesses + chunks + ranks).
OwnerFacts judge_owners(std::span<const ChunkWork> chunks, std::span<const ChunkAccess> accesses,
                        std::span<const Rank> owners, int ranks,
                        std::span<const double> load_before = {});

}  // namespace forebay
