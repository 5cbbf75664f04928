#pragma once

// Hou 2023, §5.5.3: the columns of event tables, 108 1-D variables in 15 groups. The variables of a
// group have one length; lengths go over three decades. Ranks append to each variable in turn, in
// unequal parts, as they do when files of many runs are put together.

#include "workloads/array.h"

namespace forebay::bench {

struct PandanaOptions {
  std::int64_t bytes = 68 << 20;       ///< of all variables
  std::int64_t chunk_bytes = 1 << 20;  ///< a variable that is shorter has one chunk
};

/// Values are what such tables hold: each begins with index columns (run, subrun, cycle, event,
/// subevent), which codecs like; then come measurements, which they do not. Deflate makes about 5
/// of all, as of the data in D5.
class PandanaPattern final : public ArrayPattern {
 public:
  PandanaPattern(const PandanaOptions& options, int ranks);

  std::string name() const override { return "pandana"; }
  nlohmann::json parameters() const override;
  std::span<const ArrayVariable> variables() const override { return variables_; }
  Box block(std::size_t variable, int rank) const override;
  void fill(std::size_t variable, const Box& box, std::byte* out) const override;

 private:
  struct Column {
    std::size_t group = 0;
    int kind = 0;
  };

  PandanaOptions options_;
  std::vector<ArrayVariable> variables_;
  std::vector<Column> columns_;                // what each variable is
  std::vector<std::vector<MPI_Offset>> cuts_;  // of each group: first event of each rank, and end
};

}  // namespace forebay::bench
