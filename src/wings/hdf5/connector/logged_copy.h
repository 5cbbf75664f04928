// Common parts of H5Ocopy of logged datasets into log files and into ordinary ones.
#pragma once

#include "hdf5/connector/logged_hooks.h"
#include "hdf5/connector/native_dataset.h"
#include "hdf5/connector/under_objects.h"

namespace forebay::vol {

/// Returns whether any value of a dataset was written, to the file or still in memory.
bool has_data(LoggedFile& file, const DatasetState& dataset);

/// Describes `to`, a dataset made like `dataset`, for write_native(). `dataset` must outlive the
/// result.
NativeDataset native_dataset(DatasetState& dataset, const UnderObject& to);

/// The place of H5Ocopy's copy: the open group, and the name in it.
struct CopyPlace {
  OwnedUnder parent;  ///< empty: `at` is the program's location
  UnderObject at;
  H5VL_loc_params_t location;  ///< the copy's location, from `at` on
};
CopyPlace place_of(const ObjectCopy& copy);

/// Does what H5O_COPY_WITHOUT_ATTR_FLAG asks for, but keeps Forebay's attributes.
void remove_visible_attributes(const UnderObject& object);

/// Completes `copy` in an ordinary file: replaces stand-ins by datasets with their values.
/// Collective if that file was opened with MPI-IO. Removes the copy if it fails.
void copy_out(LoggedHooks& source, const ObjectCopy& copy, bool without_attributes);

}  // namespace forebay::vol
