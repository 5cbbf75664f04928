// What H5Ocopy of logged datasets has in common, into a log file and into an ordinary one.
#pragma once

#include "api/hdf5vol/logged_file.h"
#include "api/hdf5vol/native_dataset.h"
#include "api/hdf5vol/under_objects.h"

namespace forebay::vol {

/// Whether anything of a dataset was written, in the file or still in memory.
bool has_data(LoggedFile& file, const DatasetState& dataset);

/// The dataset `to`, made like `dataset`, as write_native() takes it. `dataset` outlives the
/// result.
NativeDataset native_dataset(DatasetState& dataset, const UnderObject& to);

/// Where H5Ocopy put its copy: the group, open, and the name in it.
struct CopyPlace {
  OwnedUnder parent;  ///< empty: `at` is the location that the program gave
  UnderObject at;
  H5VL_loc_params_t location;  ///< of the copy, from `at` on
};
CopyPlace place_of(const ObjectCopy& copy);

/// What H5O_COPY_WITHOUT_ATTR_FLAG asks for, but for what is Forebay's.
void remove_visible_attributes(const UnderObject& object);

/// The copy of `copy` in an ordinary file: stand-ins give way to datasets with their values.
/// Collective where that file was opened with MPI-IO. Takes the copy away where it fails.
void copy_out(LoggedHooks& source, const ObjectCopy& copy, bool without_attributes);

}  // namespace forebay::vol
