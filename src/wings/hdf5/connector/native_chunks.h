// Questions about the chunks of a dataset of HDF5's own connector.
#pragma once

#include <hdf5.h>

// after hdf5.h
#include <H5VLnative.h>

#include <functional>

#include "base/types.h"
#include "hdf5/connector/under.h"

namespace forebay::vol {

/// Makes one of the native connector's own calls (H5VL_NATIVE_DATASET_*). Errc::ehdferr: `doing` is
/// what failed.
void dataset_optional(const UnderObject& dataset, int what,
                      H5VL_native_dataset_optional_args_t& native, const char* doing);

/// Takes a chunk's first coordinates, its filter mask, its place in the file, and its bytes.
using UseChunk =
    std::function<void(const hsize_t* offset, unsigned mask, Offset place, Count bytes)>;
/// Calls `use` for each chunk that a dataset has in the file.
void for_each_chunk(const UnderObject& dataset, const UseChunk& use);

}  // namespace forebay::vol
