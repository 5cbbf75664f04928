// Makes inverse maps (decomposed/format/inverse_map.h), with the ranks of the group that a data
// file belongs to. The file's leader has all patterns. They are distributed to the ranks, which cut
// them into runs. The order of the array is cut into intervals of about equally many runs, and each
// rank gets some. It sorts their runs and writes their pages. In each round a rank holds one
// interval.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_file.h"
#include "base/types.h"
#include "comm/comm.h"
#include "decomposed/data_file.h"

namespace forebay::decomposed {

struct InverseSizes {
  /// About the most bytes of runs in a rank's memory, beside its share of the patterns.
  Count memory = 16 << 20;
  /// Runs of a page. Pages are longer if the directory would become large otherwise.
  Count page_runs = 1024;
  /// A map gets no inverse if its patterns have at most so many runs and bytes. A reader has them
  /// in the index, and intersects them with a selection in the time of a few calls.
  Count few_runs = 1 << 14, few_bytes = 1 << 15;
};

/// Local. Returns the maps of slabs that have no inverse and should get one.
std::vector<std::uint32_t> maps_to_invert(const FileIndex& index, const InverseSizes& sizes);

/// Collective over the group, inside `together`. Writes the inverses of maps_to_invert() to the
/// group's `file`. They become part of the next write of the leader's `writer`, which is null on
/// other ranks. A map with a damaged pattern gets no inverse. Returns how many were made.
std::int64_t make_inverses(const Comm& group, ByteFile& file, const InverseSizes& sizes,
                           DataFileWriter* writer);

}  // namespace forebay::decomposed
