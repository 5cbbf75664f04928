// The anchors of variables whose values lie elsewhere.
#pragma once

#include <cstddef>
#include <functional>

#include "array/schema.h"
#include "base/byte_file.h"

namespace forebay {

/// Local. An anchor holds the fill value, so that readers that know nothing of its layout show no
/// number: writes those of the variables from `first` on for which `is_anchor` holds. Neighbours
/// go out in one call; where `first` is 0, with zeros in small holes between them.
void write_anchors(ByteFile& file, const Schema& schema, std::size_t first,
                   const std::function<bool(const Variable&)>& is_anchor);

}  // namespace forebay
