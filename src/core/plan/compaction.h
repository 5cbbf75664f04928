// Which data moves when a file is closed. Free space that rewriting has left is filled with the
// last data of the file, so that the file becomes shorter. The same rule holds for every file in
// which layouts reuse space: a file of chunks, and each data file beside one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/types.h"
#include "plan/file_space.h"

namespace forebay {

/// Less free space is not worth the work.
constexpr Count least_to_compact = Count{64} << 10;

/// Returns whether at least half as many bytes are free as are in use.
inline bool is_sparse(Count free, Count in_use) {
  return free >= least_to_compact && free >= in_use / 2;
}

/// A range of bytes that the newest state of a file refers to.
struct BytesInUse {
  Offset offset = 0;
  Count bytes = 0;
  bool stays = false;  ///< an older state refers to it, too, so the file cannot end earlier
};

struct SpaceMove {
  std::size_t which = 0;  ///< index into `in_use`
  Offset to = 0;
};

/// For a sparse file, moves its last data into free space before it, the last first, `most` bytes
/// in all. The new places are taken from `space`, and never overlap data in use.
std::vector<SpaceMove> plan_compaction(std::span<const BytesInUse> in_use, Count most,
                                       FileSpace& space);

}  // namespace forebay
