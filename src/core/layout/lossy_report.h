// What lossy codecs did to the values of a file, for its report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/types.h"
#include "codec/pipeline.h"
#include "comm/comm.h"

namespace forebay {

class LossyReport {
 public:
  /// Notes a chunk of a variable, with the values of EncodedChunk, if it was encoded with loss.
  void note(VarId var, std::uint32_t skipped, EncodedChunk::Bound bound);
  /// Collective. Afterwards the root has the counts of all ranks, and the others none. `variables`
  /// is the number of variables of the file.
  void gather(const Comm& comm, std::size_t variables);
  /// The counts by variable, limited to the space of a report, each after "; ". `piece` names the
  /// encoded unit, in the singular.
  std::string text(const std::string& piece,
                   const std::function<std::string(VarId)>& name_of) const;

 private:
  /// Counts of a variable's chunks: those with missing values kept apart, those for which no stage
  /// could keep the bound, and those whose bound is smaller, or larger, than the spread of most
  /// values.
  struct Counts {
    Count apart = 0, exact = 0, finer = 0, coarser = 0;
  };
  std::map<VarId, Counts> of_;
};

}  // namespace forebay
