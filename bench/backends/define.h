#pragma once

#include "workloads/cdl.h"

namespace forebay::bench {

/// Defines all dimensions, variables and attributes of `header` in the open file `ncid`, which is
/// in define mode, in the header's order: variables get the ids 0, 1, …. Throws std::runtime_error.
void define_header(int ncid, const cdl::Header& header);

}  // namespace forebay::bench
