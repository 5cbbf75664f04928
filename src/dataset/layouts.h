// Which layouts files can have that are no groups' own: what others are for is refused.
#pragma once

#include <string>

#include "method/method.h"

namespace forebay {

/// Local. Errc::enotsupport, with those that it can have: a netCDF file of that layout, or with a
/// rule for variables that names it.
void check_netcdf_layouts(const std::string& path, const Method& method);
/// The same of a new HDF5 file. What is none of its layouts but netCDF's makes an ordinary one.
void check_hdf5_layout(const Method& method);

}  // namespace forebay
