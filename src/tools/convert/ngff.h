// What OME-NGFF (0.4, the version for Zarr 2) wants to know of a store that has a field at several
// resolutions.
#pragma once

#include "files/level_source.h"
#include "files/zarr.h"

namespace forebay::tools {

/// The attribute "multiscales": for each variable in patches its arrays "0/NAME", "1/NAME", …, with
/// scale 2^k along the dimensions that are cut and translation 0. Of those alone that have axes as
/// OME-NGFF allows them: records (time), one dimension at most (channel), two or three of space.
zarr::JsonAttribute multiscales(const Pyramid& pyramid);

}  // namespace forebay::tools
