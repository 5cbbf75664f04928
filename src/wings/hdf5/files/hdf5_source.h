// HDF5 files, including netCDF-4, as far as the classic model goes: numbers and text. Without HDF5,
// the build only has the functions that refuse.
#pragma once

#include <memory>
#include <string>

#include "files/open_source.h"

namespace forebay {

extern const FormatEntry hdf5_format;

/// Throws Errc::enotsupport: this build "reads no" or "writes no" HDF5 files.
[[noreturn]] void refuse_without_hdf5(const std::string& path, const char* doing);

/// Opens a file by the conventions of netCDF-4 (hdf5/files/hdf5_schema.h). left_out() has what the
/// classic model cannot express. `group` and `strings` are as in open_source. Errc::ehdferr for a
/// damaged file, Errc::enotsupport in a build without HDF5.
std::unique_ptr<Source> open_hdf5(const std::string& path, const std::string& group,
                                  Strings strings);

}  // namespace forebay
