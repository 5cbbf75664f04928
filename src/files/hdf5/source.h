// HDF5 files, netCDF-4 among them, as far as the classic model goes: numbers and text. Without HDF5
// in the build only has_hdf5() is there to ask, and how to refuse.
#pragma once

#include <memory>
#include <string>

#include "files/source.h"

namespace forebay {

/// Errc::enotsupport: this build "reads no", "writes no" HDF5 files.
[[noreturn]] void refuse_without_hdf5(const std::string& path, const char* doing);

/// Opens a file by the conventions of netCDF-4 (hdf5_schema.h); what the classic model has no word
/// for is in left_out(). `group`, `strings`: as open_source has them. Errc::ehdferr for a damaged
/// file, Errc::enotsupport in a build without HDF5.
std::unique_ptr<Source> open_hdf5(const std::string& path, const std::string& group,
                                  Strings strings);

/// Opens every object of an HDF5 file and, with `values`, reads all its elements, so that filters
/// with checksums verify them. Returns a sentence for each object that cannot be read; nothing
/// where all is well. Throws where the file cannot be opened.
std::vector<std::string> check_hdf5(const std::string& path, bool values, Count& datasets,
                                    Count& bytes);

}  // namespace forebay
