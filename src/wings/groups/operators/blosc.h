// Chunks of blosc, as c-blosc 1 and 2 write them: a header, the places of blocks, the blocks. Each
// block is shuffled and compressed by itself, in one stream or one for each byte of an element.
//
// Decodes BloscLZ, LZ4, zlib and zstd behind either shuffle. Errc::enotsupport for other codecs and
// filters, and dictionaries. The bytes may be hostile: Errc::enotnc for a chunk that makes no
// sense, and nothing is read or written outside the spans.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "codec/pipeline.h"

namespace forebay::operators {

struct BloscSizes {
  std::size_t decoded = 0, stored = 0;  ///< bytes of the values, and of the chunk
};
/// What the header of the chunk at the beginning of `bytes` says. Both sizes are above 0, and the
/// chunk lies within `bytes`.
BloscSizes blosc_sizes(std::span<const std::byte> bytes);

/// `chunk` is one whole chunk. `out` has as many bytes as its header says.
void decode_blosc(std::span<const std::byte> chunk, std::span<std::byte> out,
                  CodecWorkspace& workspace);

}  // namespace forebay::operators
