// Old region references to datasets whose dimensions are not where HDF5 looks for them.
#pragma once

#include "hdf5/files/handle.h"

namespace forebay {

/// Returns the selection of a reference (hdset_reg_ref_t, as read from `file`) in a dataset with
/// the extents of `space`. HDF5's H5Rget_region takes the extents from the dataset's header, but a
/// dataset in a log has none there. Invalid if the reference leads nowhere.
Hdf5Id region_in_space(hid_t file, hid_t space, const char* reference);

}  // namespace forebay
