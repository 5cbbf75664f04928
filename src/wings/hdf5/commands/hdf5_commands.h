// `forebay convert --to hdf5` of an HDF5 file. A build without HDF5 has a function that refuses.
#pragma once

#include <string>

#include "tools/convert/convert_file.h"

namespace forebay::tools {

/// Collective. Copies an HDF5 file with all its content, also types that the classic model lacks.
/// Sets variables, bytes and verified of the result, on rank 0.
ConvertResult copy_hdf5_file(const Comm& comm, const std::string& in, const std::string& out,
                             const ConvertOptions& options);

}  // namespace forebay::tools
