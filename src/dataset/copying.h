// What tools need that copy a file into another layout: shapes of chunks before anything is known
// of the accesses, and how to tell whether values came through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/types.h"

namespace forebay {

/// The chunk shape that the variable has; where it has none, contiguous parts of about `least`
/// bytes, 0 standing for the engine's choice. Empty for a scalar.
std::vector<Count> copied_chunk_shape(const Variable& var, Count least = 0);

/// Whether a codec pipeline may change values. Errc::einval for one that makes no sense.
bool is_lossy_codec(const std::string& pipeline);

}  // namespace forebay
