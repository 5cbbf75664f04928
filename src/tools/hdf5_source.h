// netCDF-4 files, as far as the classic model goes: the root group, numbers and text. Without HDF5
// in the build only has_hdf5() is there to ask.
#pragma once

#include <memory>
#include <string>

#include "tools/source.h"

namespace forebay::tools {

/// Errc::enotsupport for what the classic model has no word for: groups, strings, compound types,
/// naming the first such thing; Errc::ehdferr for a damaged file.
std::unique_ptr<Source> open_hdf5(const std::string& path);

}  // namespace forebay::tools
