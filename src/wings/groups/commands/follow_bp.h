// forebay convert --follow: copies a BP file to netCDF while it is written.
#pragma once

#include "tools/convert/convert_file.h"

namespace forebay::tools {

/// Collective, as follow(). Each step becomes a record, as groups write them to netCDF. Ranks share
/// each variable along its first dimension; a rank holds its share of a step in memory.
/// Errc::enotsupport: the method writes no netCDF file. Errc::eread: there was no step for
/// `options.timeout` seconds. Other errors are those of GroupFile, such as a shape that differs
/// between steps.
ConvertResult follow_bp(const Comm& comm, const ConvertOptions& options);

}  // namespace forebay::tools
