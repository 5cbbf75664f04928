// How much memory may still be taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forebay {

/// Bytes that this process can take before the machine, or a control group (container) that it is
/// in, runs out of memory: what is free, and what only caches files. Nothing where the system does
/// not tell (another one than Linux, no /proc). Never throws but std::bad_alloc. `root` stands
/// before the system's paths, for tests. Costs a tenth of a millisecond.
std::optional<std::uint64_t> memory_at_hand(const std::string& root = "");

}  // namespace forebay
