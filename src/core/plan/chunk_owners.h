// Which rank owns which chunk (Hou 2023, §5.2.5), for all chunks of all queued requests of all
// variables at once (Hou 2023, §5.3).
//
// The problem: the owner of a chunk encodes (or decodes) it, holds its buffer, and reads and writes
// it. Every other rank that touches the chunk exchanges its part with the owner. Owners should be
// chosen so that little data moves between ranks, and no rank has much more work than its share,
// since all wait for the busiest one.
//
// The paper gives a chunk to the rank with the highest preference score
//
//     score(r, k) = access(r, k) − penalty × (all that r owns already),
//
// where access(r, k) is the number of bytes of chunk k that rank r touches. That penalty disturbs
// patterns that are balanced already. A rank that has received three of its own five chunks loses
// the fourth to an idle rank, although that rank's own chunks are still to come; and the result
// depends on the order of visiting. Here only the work counts by which a rank would exceed its fair
// share:
//
//     score(r, k) = access(r, k) − penalty × max(0, load(r) + work(k) − share).
//
// share is the level to which the new work fills the ranks, on top of their earlier load. So
// nothing moves if every rank has its own chunks, about equally many. If there are fewer large
// chunks than ranks, share is less than one chunk, and each chunk goes to another rank. Chunks are
// visited by decreasing work, so that the small ones even out the load.
//
// For every input and penalty, no rank ends above share + the largest single work (unless its
// earlier load was higher), and share is at most the mean over ranks. If two ranks have equal
// scores, the one with more access wins, then the one with less load, then the lower one.
//
// Pure and deterministic: equal arguments give equal owners on all ranks that run the same program
// on the same kind of processor (the score is computed in floating point, in a fixed order).
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

/// What one rank touches of one chunk: the access size of Hou 2023, §5.2.5.
struct ChunkAccess {
  std::uint32_t chunk;  ///< position in the list of chunks
  Rank rank;
  Count bytes;  ///< bytes of the chunk in the rank's requests
};

struct OwnerOptions {
  /// How many moved bytes are as costly as one byte's work on the busiest rank. Data moves at about
  /// 2 GB/s; zstd encodes at about 300 MB/s, deflate at 75 MB/s: 7 to 27. The default is lower,
  /// since work is only estimated.
  double penalty = 4;
};

/// The owner of each chunk.
///
/// `accesses` is sorted by chunk, then rank, without duplicates. It may be incomplete: a caller
/// that cannot hold all entries keeps those with the most bytes of each chunk. Chunks without
/// entries go to idle ranks. `load_before` is the earlier load of each rank (buffers of earlier
/// chunks), or empty for none. Errc::einternal if an argument breaks these rules.
///
/// O(accesses + chunks log chunks + chunks log ranks + ranks), and ranks log ranks with
/// `load_before`. Memory: a few words for each chunk and rank.
std::vector<Rank> assign_owners(std::span<const ChunkWork> chunks,
                                std::span<const ChunkAccess> accesses, int ranks,
                                std::span<const double> load_before = {},
                                const OwnerOptions& options = {});

/// The costs of an assignment.
struct OwnerFacts {
  Count bytes_moved = 0;  ///< accessed by a rank that is not the owner
  Count bytes_local = 0;  ///< accessed by the owner
  double busiest = 0;     ///< the largest load of a rank, with its earlier load
  double mean = 0;        ///< the mean over all ranks
};

/// The costs of any assignment, for reports, tests and simulation. `owners` has one entry per
/// chunk. Errc::einternal as for assign_owners. O(accesses + chunks + ranks).
OwnerFacts judge_owners(std::span<const ChunkWork> chunks, std::span<const ChunkAccess> accesses,
                        std::span<const Rank> owners, int ranks,
                        std::span<const double> load_before = {});

}  // namespace forebay
