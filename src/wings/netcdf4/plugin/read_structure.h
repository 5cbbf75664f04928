// Reads the structure of a netCDF-4 file, or of any HDF5 file as netCDF-4 sees it.
#pragma once

#include "netcdf4/structure.h"

namespace forebay::netcdf4 {

/// Throws Errc::ehdferr, Errc::enotnc for a file that is none or is damaged.
ReadStructure read_structure(const std::string& path);

std::unique_ptr<Hdf5Values> open_values(const std::string& path);

}  // namespace forebay::netcdf4
