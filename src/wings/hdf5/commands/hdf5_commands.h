// The output of `forebay convert --to hdf5`. A build without HDF5 has functions that refuse.
#pragma once

#include <memory>
#include <string>

#include "tools/convert/convert_file.h"

namespace forebay::tools {

/// Collective. Creates a netCDF-4 file; Errc::enotsupport in a build without HDF5. It uses the
/// method's keys layout, codec (HDF5's own filters) and chunk_bytes. Ranks write data without a
/// codec directly, past HDF5. Rank 0 writes everything else.
std::unique_ptr<Output> create_hdf5(const Comm& comm, const Source& source, const std::string& path,
                                    const ConvertOptions& options);
/// Collective. Copies an HDF5 file with all its content, also types that the classic model lacks.
/// Sets variables, bytes and verified of the result, on rank 0.
ConvertResult copy_hdf5_file(const Comm& comm, const std::string& in, const std::string& out,
                             const ConvertOptions& options);

}  // namespace forebay::tools
