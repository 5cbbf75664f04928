// Streams of HDF5's filters that keep bytes as they are. They stand where a filter would not make a
// chunk smaller, and the chunk must not skip the filter: HDF5 (1.14) forgets which filters a chunk
// that is written directly skips, until the dataset is opened again.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "codec/codec_stage.h"
#include "layout/chunked/filter_ids.h"

namespace forebay::chunked {

/// Returns what a reader's filters turn into `raw`: shuffled, and in a stream of the compressor
/// without compression, or as the plug-in makes it. Nothing for other filters. Checksums are left
/// to the caller.
std::optional<std::vector<std::byte>> stored_stream(const std::vector<Filter>& filters,
                                                    const ChunkInfo& chunk,
                                                    std::span<const std::byte> raw,
                                                    CodecWorkspace::State& state);

}  // namespace forebay::chunked
