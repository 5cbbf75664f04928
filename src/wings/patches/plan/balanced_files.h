// Distributes patches over several files, so that the files are about equally large (Fan et al.
// 2021, §IV-C).
//
// The problem: encoded patches have very different sizes. Aggregators write their files at the same
// time, and all ranks wait for the largest file. Patches that follow each other in Morton order
// (plan/morton.h) are read together, so they should stay together. So the order is cut into F runs,
// none of which is much larger than the mean.
//
// Fan et al. gather all sizes on every rank, and close a file when it exceeds the running average
// of the rest. Here a patch goes to the file in whose equal share its middle lies:
//
//     file(p) = ⌊(before(p) + size(p)/2) · F / total⌋,
//
// where before(p) is the sum of the sizes of all patches before p. So a rank only needs to know a
// sum over lower ranks. For every input, files are runs of the order, and none is larger than the
// mean plus the largest patch (at most half of its first and half of its last patch are too much).
// If there are no bytes, all patches go to the first file.
//
// Patches of several variables at one position of the domain stay together: their sizes are summed,
// and "patch" here means a position. The owners of patches know the sizes, but they are not in
// Morton order. So the positions are distributed over ranks in blocks, in order. Owners send sizes
// to these ranks, and get back the files. "→" sends notes to their ranks; all ranks take all steps:
//
//     tell → hear
//     exclusive scan of bytes(), for answer()
//     answer → PatchFile, to each rank that sent a size
//
// Cost for a rank: O(positions/N + the rank's own patches and those of its block).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "patches/plan/plan_message.h"

namespace forebay {

/// The file of a patch of `bytes` bytes, with `before` bytes before it and `total` in all. Pure. No
/// argument is negative, before + bytes <= total, files >= 1.
Count file_of(Count before, Count bytes, Count total, Count files);

/// The bytes of a rank at a position.
struct PatchSize {
  Count position = 0;  ///< in Morton order, from 0; grids of several shapes one after another
  Count bytes = 0;
};

struct PatchFile {
  Count position = 0;
  Count file = 0;
};

/// The part of one rank in this distribution.
class BalancedFiles {
 public:
  /// All functions throw Errc::einternal for impossible arguments, and nothing else.
  BalancedFiles(int ranks, Count positions, Count files);

  /// `mine` may be in any order and may repeat a position. In all outputs, notes to one rank follow
  /// each other.
  void tell(std::span<const PatchSize> mine, Notes<PatchSize>& out) const;
  /// May be called several times.
  void hear(std::span<const PlanMessage<PatchSize>> in);
  Count bytes() const { return bytes_; }  ///< of all positions in this rank's block
  /// `before` is the sum of bytes() over lower ranks, `total` that over all ranks. Gives one note
  /// for each position that a rank sent, by increasing position.
  void answer(Count before, Count total, Notes<PatchFile>& out);

 private:
  struct Told {
    PatchSize size;
    Rank rank;
  };

  int ranks_;
  Count positions_, files_;
  std::vector<Told> told_;
  Count bytes_ = 0;
};

/// The rank whose block contains a position.
Rank home_of_position(Count position, Count positions, int ranks);

}  // namespace forebay
