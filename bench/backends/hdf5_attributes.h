#pragma once

#include "backends/hdf5_handles.h"
#include "workloads/cdl.h"

namespace forebay::bench {

/// The type in the file and in memory of a netCDF type; characters are strings of length 1, as
/// netCDF-4 stores them. Not owned.
hid_t hdf5_type(cdl::Type type);

/// Creates `attributes` of an object: text as a string of fixed length, numbers as a list.
/// Collective.
void hdf5_put_attributes(hid_t object, const std::vector<cdl::Attribute>& attributes);

}  // namespace forebay::bench
