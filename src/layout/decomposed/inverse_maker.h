// Making inverse maps (format/inverse_map.h), by the ranks of the group that a data file belongs
// to. The file's leader has the patterns of all; they are dealt to the ranks, who cut them into
// runs. The order of the array is cut into intervals that have about as many runs each, of which
// each rank gets some: it sorts their runs, and writes their pages. That goes in rounds, in each of
// which a rank holds one interval.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_file.h"
#include "base/types.h"
#include "comm/comm.h"
#include "layout/decomposed/data_file.h"

namespace forebay::decomposed {

struct InverseSizes {
  /// Bytes that a rank holds at most of runs, about, beside its share of the patterns.
  Count memory = 16 << 20;
  /// Of a page. More if there are so many that the directory would become large.
  Count page_runs = 1024;
  /// A map whose patterns have no more runs, and take no more bytes, gets no inverse: who reads
  /// intersects as many with a selection in the time of a few calls, and has them in the index.
  Count few_runs = 1 << 14, few_bytes = 1 << 15;
};

/// Local. Maps that slabs use, which have no inverse, and get one.
std::vector<std::uint32_t> maps_to_invert(const FileIndex& index, const InverseSizes& sizes);

/// Collective over the group; to be called within `together`. Writes the inverses of
/// maps_to_invert() to `file`, the group's, and notes them for the next write of the leader's
/// `writer`; the others' is null. A map that has a damaged pattern gets none. Returns how many were
/// made.
std::int64_t make_inverses(const Comm& group, ByteFile& file, const InverseSizes& sizes,
                           DataFileWriter* writer);

}  // namespace forebay::decomposed
