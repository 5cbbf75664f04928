// Lists the stored chunks of an HDF5 dataset.
#pragma once

#include <functional>
#include <vector>

#include "files/source.h"
#include "hdf5/files/handle.h"

namespace forebay {

/// Visits the chunks of a dataset with chunks of `shape` and extents of `extents`. Beyond 16384
/// chunks, an HDF5 before 1.14 gives no places: it would search from the first chunk on for each.
void each_chunk_of(hid_t dataset, const std::vector<Count>& shape,
                   const std::vector<Count>& extents,
                   const std::function<void(const ChunkPlace&)>& visit);

}  // namespace forebay
