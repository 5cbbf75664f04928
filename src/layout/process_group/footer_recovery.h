// A BP3 file that lost its footer (recovery.h).
#pragma once

#include <string>

#include "base/report.h"
#include "layout/process_group/recovery.h"

namespace forebay::process_group {

/// Local, while nobody writes the file. Takes memory for the index of all steps, twice, and 40
/// bytes for each group.
BpRecovery recover_footer(const std::string& path, const BpRecoveryOptions& options, Rank rank,
                          Report& report);

}  // namespace forebay::process_group
