// Files of any format as a Source.
#pragma once

#include <memory>
#include <string>

#include "files/source.h"

namespace forebay {

/// Opens a classic file, with chunks or without, a BP file, or a netCDF-4 (HDF5) file, if
/// this build has HDF5. `group`: only that group of a netCDF-4 file, as if it were a file of its
/// own ("/": the root without the groups in it). Throws what opening throws: a sentence that begins
/// with the path; Errc::enogrp for a group that is not there.
std::unique_ptr<Source> open_source(const std::string& path, const std::string& group = {},
                                    Strings strings = Strings::left_out);

}  // namespace forebay
