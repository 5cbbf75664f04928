// One collective operation on chunked variables, planned: which chunks it touches, who owns them,
// in which round each is worked on, and what this rank's requests have to do with each (D5 §5.2.5,
// §5.3).
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

/// One of this rank's requests meets one chunk.
struct Touch {
  std::int32_t var = 0;
  Count id = 0;
  std::uint32_t request = 0;  ///< position in the list of requests, which is in order of posting
  std::uint32_t chunk = 0;    ///< position in Operation::chunks, once that is known
  Count bytes = 0;
};

/// Remembers what lists of runs touch: codes write hundreds of variables by one decomposition.
class TouchFinder {
 public:
  /// By increasing chunk.
  std::span<const ChunkTouch> find(const ChunkGrid& grid, const Request& request);
  /// Buffer positions of the runs of a request's list; empty where the list has its own.
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
  DeferredWrites* deferred = nullptr;  ///< where set, has the requests' data, round by round
  TouchFinder finder;
  std::vector<Touch> touches;
  std::vector<PlannedChunk> chunks;  ///< by variable and id; equal on all ranks
  /// By chunk, then rank: of all ranks, equal on all of them, or this rank's own alone.
  std::vector<ChunkAccess> accesses;
  bool knows_all_accesses = true;  ///< equal on all ranks
  /// Some chunk is put together from one that was written and not published yet; equal likewise.
  bool merges_unpublished = false;
  std::uint32_t rounds = 0;
  std::vector<std::vector<std::uint32_t>> of_round;  ///< the chunks of each round, in their order
  std::vector<bool> meets;                           ///< whether a round has shared chunks
  /// How many rounds before each have shared chunks. Ranks wait for each other in these alone, so
  /// buffers that are used in turn change by this number, never by that of the round.
  std::vector<std::uint32_t> met;
  /// What holds for values that chunks of this rank's have already: of those whose codecs want a
  /// range the bound that they were stored with, or their range; of lossy hierarchies how far they
  /// are from what was written.
  struct Kept {
    std::optional<double> bound, range, cut;
  };
  std::map<std::uint32_t, Kept> kept;

  /// To be called once rounds are known, or what is shared has changed: brings the touches into the
  /// order of rounds, and sets `of_round`, `meets` and `met`.
  void sort_by_round();
  /// This rank's touches of one chunk.
  std::span<const Touch> touches_of(std::uint32_t chunk) const;
  std::span<const Touch> touches_of_round(std::uint32_t round) const;
};

/// This rank's accesses, one for each chunk it touches.
std::vector<Access> own_accesses(std::span<const Touch> touches);

/// Takes over what all ranks touch: fills chunks (var, id, flags, touched) and accesses.
void adopt_accesses(Operation& op, std::span<const Access> all);

/// Gives the chunks their bytes, owner, local and shared; op knows all accesses.
void choose_owners(Operation& op, const CostOf& cost, int ranks);

/// Gives chunks, one after another, these owners, and what follows from it; below 0: as it was. op
/// knows all accesses.
void take_owners(Operation& op, std::span<const Rank> owners);

/// Takes over chunks that were planned where no rank knows all accesses; `mine` are this rank's.
void adopt_chunks(Operation& op, std::vector<PlannedChunk> chunks, std::span<const Access> mine,
                  Rank rank);

/// Tells the touches which chunk they belong to; op.chunks has all chunks that are touched.
void find_chunks_of_touches(Operation& op);

}  // namespace forebay::chunked
