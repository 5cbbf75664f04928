// HDF5 reads the structure of a file in another process.
//
// HDF5's own code does not withstand all files that somebody damaged, or made to harm: of a
// thousand such files a few make HDF5 1.14.5 crash or run forever (tests/damaged_files.cc). So a
// companion, forebay_netcdf4_reader, reads them.
#pragma once

#include <string>

#include "netcdf4/structure.h"

namespace forebay::netcdf4 {

/// Local. Returns the structure of a file. Reads it in this process if the companion cannot be
/// started. Each error names the file.
ReadStructure read_apart(const std::string& path);

/// The same in this process.
ReadStructure read_here(const std::string& path);

}  // namespace forebay::netcdf4
