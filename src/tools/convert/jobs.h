// Who copies what of a conversion: jobs, each of one rank in one round.
#pragma once

#include <optional>
#include <vector>

#include "base/types.h"
#include "files/file_maps.h"
#include "files/source.h"
#include "tools/convert/convert.h"

namespace forebay::tools {

struct Job {
  VarId var = 0;
  Subarray part;  ///< unless it is part of a slab
  std::optional<decomposed::ReplayPart> slab;
  Count bytes = 0;
  Rank rank = 0;
  int round = 0;
};

/// Equal on all ranks: each job goes to the rank with least in its round; a round is full when all
/// ranks have what they may hold.
class Rounds {
 public:
  Rounds(int ranks, Count round_bytes)
      : load_(static_cast<std::size_t>(ranks), 0), round_bytes_(round_bytes) {}

  void add(Job job, bool by_root = false);  ///< `by_root`: it goes to rank 0
  /// What comes next, so many bytes, goes in one round where that has room for it.
  void keep_together(Count bytes);
  /// In the order of rounds.
  std::vector<Job> take() { return std::move(jobs_); }

 private:
  void begin_round();

  std::vector<Job> jobs_;
  std::vector<Count> load_;  // of ranks, in this round
  Count round_bytes_, in_round_ = 0;
  int round_ = 0;
};

/// Boxes of a variable, whole chunks of it as it is stored in the output.
void add_boxes(Rounds& rounds, VarId id, const Variable& stored, const std::vector<Count>& shape,
               Count most_bytes, bool by_root = false);

/// The same of one record alone; of a fixed variable, all of it.
void add_boxes_of_record(Rounds& rounds, VarId id, const Variable& stored,
                         const std::vector<Count>& shape, Count record, Count most_bytes);

/// Parts of slabs. All of what one chunk's records have comes in one round, where there is room, so
/// that no chunk is encoded twice.
void add_slabs(Rounds& rounds, const Variable& stored,
               const std::vector<decomposed::ReplayPart>& parts);

std::vector<Count> totals_after_rounds(const std::vector<Job>& jobs);

/// A hash of all that they say.
std::uint64_t hash_of_jobs(const std::vector<Job>& jobs);

}  // namespace forebay::tools
