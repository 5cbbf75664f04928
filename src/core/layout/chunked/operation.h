// The plan of one collective operation on chunked variables: which chunks it touches, their owners
// and rounds, and the parts of this rank's requests in each (Hou 2023, §5.2.5, §5.3).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "array/chunk_grid.h"
#include "array/request.h"
#include "codec/pipeline.h"
#include "layout/chunked/accesses.h"

namespace forebay::chunked {

/// One of this rank's requests touches one chunk.
struct Touch {
  std::int32_t var = 0;
  Count id = 0;
  std::uint32_t request = 0;  ///< index in the list of requests, which is in order of posting
  std::uint32_t chunk = 0;    ///< index in Operation::chunks, once known
  Count bytes = 0;
};

/// Caches what run lists touch: programs write hundreds of variables with one decomposition.
class TouchFinder {
 public:
  /// By increasing chunk.
  std::span<const ChunkTouch> find(const ChunkGrid& grid, const Request& request);
  /// Buffer positions of the runs of a request's list; empty if the list has its own.
  std::span<const Offset> positions(const Request& request);

 private:
  struct Known {
    const RunList* list;
    Offset base;
    std::vector<Count> shape, lengths;
    std::vector<ChunkTouch> touched;
  };
  std::vector<std::unique_ptr<Known>> known_;
  std::unordered_map<const RunList*, std::vector<Offset>> positions_;
  std::vector<ChunkTouch> scratch_;
};

/// All touches of `requests` sorted by variable, chunk, request. `grid(var)` gives the grid.
template <typename GridOf>
std::vector<Touch> find_touches(std::span<const Request> requests, TouchFinder& finder,
                                GridOf&& grid) {
  std::vector<Touch> touches;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].elements == 0) continue;
    for (const ChunkTouch& t : finder.find(grid(requests[i].var), requests[i])) {
      touches.push_back({requests[i].var, t.chunk, static_cast<std::uint32_t>(i), 0, t.bytes});
    }
  }
  const auto before = [](const Touch& a, const Touch& b) {
    if (a.var != b.var) return a.var < b.var;
    if (a.id != b.id) return a.id < b.id;
    return a.request < b.request;
  };
  if (!std::is_sorted(touches.begin(), touches.end(), before))
    std::sort(touches.begin(), touches.end(), before);
  return touches;
}

class DeferredWrites;

struct Operation {
  std::span<Request> requests;         ///< this rank's
  DeferredWrites* deferred = nullptr;  ///< if set, holds the requests' data, round by round
  TouchFinder finder;
  std::vector<Touch> touches;
  std::vector<PlannedChunk> chunks;  ///< by variable and id; equal on all ranks
  /// By chunk, then rank: those of all ranks, equal on all of them, or only this rank's.
  std::vector<ChunkAccess> accesses;
  bool knows_all_accesses = true;  ///< equal on all ranks
  /// Some chunk is merged with one that is written but not published; equal on all ranks.
  bool merges_unpublished = false;
  std::uint32_t rounds = 0;
  std::vector<std::vector<std::uint32_t>> of_round;  ///< the chunks of each round, in their order
  std::vector<bool> meets;                           ///< whether a round has shared chunks
  /// The number of earlier rounds with shared chunks, for each round. Ranks wait for each other
  /// only in such rounds. So buffers that are used in turn must alternate by this number, never by
  /// that of the round.
  std::vector<std::uint32_t> met;
  /// Constraints from values that are in chunks of this rank already. If the codec needs a range:
  /// the bound that the values were stored with, or their range. For a lossy hierarchy: how far the
  /// values are from the original ones.
  struct Kept {
    std::optional<double> bound, range, cut;
  };
  std::map<std::uint32_t, Kept> kept;

  /// To be called once rounds are known, or `shared` has changed: sorts the touches by round, and
  /// sets `of_round`, `meets` and `met`.
  void sort_by_round();
  /// This rank's touches of one chunk.
  std::span<const Touch> touches_of(std::uint32_t chunk) const;
  std::span<const Touch> touches_of_round(std::uint32_t round) const;
};

/// This rank's accesses, one for each chunk that it touches.
std::vector<Access> own_accesses(std::span<const Touch> touches);

/// Sets chunks (var, id, flags, touched) and accesses from those of all ranks.
void adopt_accesses(Operation& op, std::span<const Access> all);

/// Sets the chunks' bytes, owner, local and shared; op must know all accesses.
void choose_owners(Operation& op, const CostOf& cost, int ranks);

/// Sets the owners of all chunks in order (below 0: unchanged), and the members that depend on
/// them. op must know all accesses.
void take_owners(Operation& op, std::span<const Rank> owners);

/// Adopts chunks that were planned without knowing all accesses; `mine` are this rank's accesses.
void adopt_chunks(Operation& op, std::vector<PlannedChunk> chunks, std::span<const Access> mine,
                  Rank rank);

/// Sets the index of each touch's chunk; op.chunks must have all chunks that are touched.
void find_chunks_of_touches(Operation& op);

}  // namespace forebay::chunked
