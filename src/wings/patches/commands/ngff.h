// Metadata of OME-NGFF (0.4, the version for Zarr 2) for a store with a field at several
// resolutions.
#pragma once

#include "files/zarr.h"
#include "patches/files/level_source.h"

namespace forebay::tools {

/// Returns the attribute "multiscales". For each variable in patches it has the arrays "0/NAME",
/// "1/NAME", …, with scale 2^k along the dimensions that are cut, and translation 0. It includes
/// only variables with axes that OME-NGFF allows: records (time), at most one channel, and two or
/// three dimensions of space.
zarr::JsonAttribute multiscales(const Pyramid& pyramid);

}  // namespace forebay::tools
