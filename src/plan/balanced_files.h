// Which patch goes to which of several files, so that files are about equally large (H §IV-C).
//
// The problem: encoded patches have very different sizes. Files are written at the same time, one
// by each aggregator, and the largest is waited for. Patches that follow each other in Morton order
// (plan/morton.h) are to stay together, since they are read together. So the order is cut into F
// runs, none of which has much more bytes than the mean.
//
// H gathers all sizes on every rank, and closes a file when what it has exceeds the running average
// of what is left. Here a patch goes to the file in whose equal share its middle lies:
//
//     file(p) = ⌊(before(p) + size(p)/2) · F / total⌋,
//
// where before(p) is the sum of the sizes of all patches before p. A sum over lower ranks is all
// that has to be known of the others. What holds for every input: files are runs of the order, and
// none has more than the mean + the largest patch, of its first and its last patch half at most
// being too much. Without any bytes all go to the first file.
//
// Patches of several variables at one position of the domain stay together: their sizes are summed,
// and "patch" here means a position. Sizes are with their owners, who are not in Morton order. So
// the positions are dealt to ranks in blocks, in order; owners tell the size there, and are told
// the file. "→" carries notes to their ranks; all ranks take all steps:
//
//     tell → hear
//     exclusive scan of bytes(), for answer()
//     answer → PatchFile, to each who told a size
//
// O(positions/N + what a rank's own patches and those of its block are) a rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "plan/note.h"

namespace forebay {

/// The file of a patch of `bytes` that `before` lie before, of `total` in all. Pure; none is
/// negative, before + bytes <= total, files >= 1.
Count file_of(Count before, Count bytes, Count total, Count files);

/// What a rank has at a position.
struct PatchSize {
  Count position = 0;  ///< in Morton order, from 0 on; grids of several shapes one after another
  Count bytes = 0;
};

struct PatchFile {
  Count position = 0;
  Count file = 0;
};

/// One rank's part in it.
class BalancedFiles {
 public:
  /// Errc::einternal for what cannot be, here and below; nothing else is thrown.
  BalancedFiles(int ranks, Count positions, Count files);

  /// `mine` in any order; a position may stand in it several times. Notes to one rank follow each
  /// other, here and below.
  void tell(std::span<const PatchSize> mine, Notes<PatchSize>& out) const;
  /// May be called several times.
  void hear(std::span<const Note<PatchSize>> in);
  Count bytes() const { return bytes_; }  ///< of all positions in this rank's block
  /// `before`: the sum of bytes() over lower ranks; `total`: over all ranks. One note for each
  /// position that a rank told of, by increasing position.
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

/// The rank whose block a position is in.
Rank home_of_position(Count position, Count positions, int ranks);

}  // namespace forebay
