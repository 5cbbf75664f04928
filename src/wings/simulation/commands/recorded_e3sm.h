// E3SM's recorded headers and maps, read like all files of this command.
#pragma once

#include "workloads/e3sm_case.h"

namespace forebay::tools {

/// Reads them from options.data_dir. Needs ncgen. Throws Error, or std::runtime_error like the
/// benchmark.
bench::E3smSource recorded_e3sm(const bench::E3smOptions& options);

}  // namespace forebay::tools
