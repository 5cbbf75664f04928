// Recovers a BP3 file that lost its footer (index_recovery.h).
#pragma once

#include <string>

#include "base/report.h"
#include "groups/process_group/index_recovery.h"

namespace forebay::process_group {

/// Local. Nobody may write the file at the same time. Takes memory for the index of all steps,
/// twice, and 40 bytes for each group.
BpRecovery recover_footer(const std::string& path, const BpRecoveryOptions& options, Rank rank,
                          Report& report);

}  // namespace forebay::process_group
