// Writes one value over and over.
#pragma once

#include <cstddef>
#include <span>

#include "base/types.h"
#include "comm/comm.h"
#include "storage/file.h"

namespace forebay {

/// Local; each rank writes its share of the elements, all of which have the bytes of `value`.
void fill_bytes(const Comm& comm, File& file, std::span<const std::byte> value, Offset offset,
                Count elements);

}  // namespace forebay
