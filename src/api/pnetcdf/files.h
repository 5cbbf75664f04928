// The open files, for inquiries.
#pragma once

#include <vector>

namespace forebay::pnetcdf {

/// The IDs of all open files, in increasing order.
std::vector<int> open_files();

}  // namespace forebay::pnetcdf
