// Which chunks of an HDF5 dataset are stored, and how.
#pragma once

#include <functional>
#include <vector>

#include "files/hdf5/handle.h"
#include "files/source.h"

namespace forebay {

/// The chunks of a dataset with chunks of `shape` and extents of `extents`. Beyond 16384 chunks an
/// HDF5 before 1.14 tells no places, which it would search from the first chunk on for each.
void each_chunk_of(hid_t dataset, const std::vector<Count>& shape,
                   const std::vector<Count>& extents,
                   const std::function<void(const ChunkPlace&)>& visit);

}  // namespace forebay
