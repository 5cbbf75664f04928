#pragma once

#include <functional>
#include <span>

#include "workloads/cdl.h"

namespace forebay::bench {

/// Defines a variable of these dimensions, and tells its id; false: define_header is to do it.
using DefineVariable = std::function<bool(int ncid, int var, std::span<const int> dims, int* id)>;

/// Defines all dimensions, variables and attributes of `header` in the open file `ncid`, which is
/// in define mode, in the header's order: variables get the ids 0, 1, …. Throws std::runtime_error.
void define_header(int ncid, const cdl::Header& header, const DefineVariable& otherwise = nullptr);

}  // namespace forebay::bench
