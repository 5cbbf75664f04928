// Helpers for tools that copy a file into another layout: they choose chunk shapes before any
// access is known, and tell whether a codec may change values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/types.h"

namespace forebay {

/// Returns the variable's own chunk shape. A variable without one gets contiguous parts of about
/// `least` bytes; 0 stands for the engine's choice. Empty for a scalar.
std::vector<Count> copied_chunk_shape(const Variable& var, Count least = 0);

/// Returns whether a codec pipeline may change values. Errc::einval: the pipeline makes no sense.
bool is_lossy_codec(const std::string& pipeline);

}  // namespace forebay
