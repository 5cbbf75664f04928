// The jobs of a conversion. Each belongs to one rank and one round.
#pragma once

#include <optional>
#include <vector>

#include "base/types.h"
#include "files/source.h"
#include "tools/convert/convert_file.h"

namespace forebay::tools {

struct Job {
  VarId var = 0;
  Subarray part;  ///< not used for a part of a slab
  std::optional<SlabPart> slab;
  Count bytes = 0;
  Rank rank = 0;
  int round = 0;
};

/// Assigns jobs, equally on all ranks. Each job goes to the rank with the least bytes in its round.
/// A round ends when all ranks are full.
class Rounds {
 public:
  Rounds(int ranks, Count round_bytes)
      : load_(static_cast<std::size_t>(ranks), 0), round_bytes_(round_bytes) {}

  void add(Job job);
  /// Puts the next jobs, of so many bytes, into one round if they fit.
  void keep_together(Count bytes);
  /// Returns the jobs in the order of rounds.
  std::vector<Job> take() { return std::move(jobs_); }

 private:
  void begin_round();

  std::vector<Job> jobs_;
  std::vector<Count> load_;  // bytes of each rank in this round
  Count round_bytes_, in_round_ = 0;
  int round_ = 0;
};

/// Adds boxes of a variable, which are whole chunks of it as stored in the output.
void add_boxes(Rounds& rounds, VarId id, const Variable& stored, const std::vector<Count>& shape,
               Count most_bytes);

/// The same for a single record, or for all of a fixed variable.
void add_boxes_of_record(Rounds& rounds, VarId id, const Variable& stored,
                         const std::vector<Count>& shape, Count record, Count most_bytes);

/// Adds parts of slabs. The records of one chunk come in one round if they fit, so that no chunk is
/// encoded twice.
void add_slabs(Rounds& rounds, const Variable& stored, const std::vector<SlabPart>& parts);

std::vector<Count> totals_after_rounds(const std::vector<Job>& jobs);

/// Returns a hash of the jobs' contents.
std::uint64_t hash_of_jobs(const std::vector<Job>& jobs);

}  // namespace forebay::tools
