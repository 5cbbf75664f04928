// References to regions of the old kind, for datasets whose dimensions HDF5 does not find where it
// looks for them.
#pragma once

#include "files/hdf5/handle.h"

namespace forebay {

/// The selection that a reference (hdset_reg_ref_t, as it was read from `file`) makes in a dataset
/// that has the extents of `space`. HDF5's own H5Rget_region takes them from the dataset's header,
/// where a dataset in a log has none. Invalid where the reference leads nowhere.
Hdf5Id region_in_space(hid_t file, hid_t space, const char* reference);

}  // namespace forebay
