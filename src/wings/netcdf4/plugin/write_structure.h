// Writes the structure of a netCDF-4 file, as netCDF-C's library writes it.
#pragma once

#include "netcdf4/structure.h"

namespace forebay::netcdf4 {

/// Throws Errc::ehdferr, or the system's error.
WrittenStructure write_structure(const NewStructure& structure);

/// The first part of the attribute NAME of a dimension without a coordinate variable.
constexpr const char* no_variable = "This is a netCDF dimension but not a netCDF variable.";

}  // namespace forebay::netcdf4
