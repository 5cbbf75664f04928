// How much memory may still be taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forebay {

/// Returns how many bytes this process can take before the machine, or its control group
/// (container), runs out of memory. Memory that only caches files counts as free. Returns nothing
/// if that is unknown (not Linux, no /proc). Throws std::bad_alloc only. `root` is put
/// before the system's paths, for tests. Costs a tenth of a millisecond.
std::optional<std::uint64_t> memory_at_hand(const std::string& root = "");

}  // namespace forebay
