// Anchors: the places in a classic file of variables whose values are stored elsewhere.
#pragma once

#include <cstddef>
#include <functional>

#include "array/schema.h"
#include "base/byte_file.h"

namespace forebay {

/// Local. Writes the anchors of the variables from `first` on for which `is_anchor` holds. An
/// anchor holds the fill value, so that readers that do not know its layout show no value.
/// Neighbours are written in one call; if `first` is 0, small holes between them are filled with
/// zeros.
void write_anchors(ByteFile& file, const Schema& schema, std::size_t first,
                   const std::function<bool(const Variable&)>& is_anchor);

}  // namespace forebay
