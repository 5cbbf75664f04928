#pragma once

#include <cstdint>

namespace forebay::bench {

/// Resident memory of this process, bytes; 0 if the system does not tell.
std::int64_t resident_now();

/// Highest resident memory since the last reset_peak(), or since the process began where the system
/// cannot reset it.
std::int64_t resident_peak();
void reset_peak();

/// Processor time of this process so far, user and system, seconds.
double processor_seconds();

}  // namespace forebay::bench
