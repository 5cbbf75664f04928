// E3SM's recorded headers and maps, read as this command reads all files.
#pragma once

#include "workloads/e3sm_case.h"

namespace forebay::tools {

/// Of options.data_dir. Needs ncgen. Throws Error, or std::runtime_error as the benchmark's own.
bench::E3smSource recorded_e3sm(const bench::E3smOptions& options);

}  // namespace forebay::tools
