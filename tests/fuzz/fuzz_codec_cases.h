// What the first two bytes of an input to fuzz_codec choose.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codec/pipeline.h"

namespace fuzz_codec {

inline constexpr std::array texts{
    "none",
    "deflate:1",
    "zstd:1",
    "shuffle,zstd:1",
    "bitshuffle,deflate:1",
    "float32,zstd:1",
    "zfp:accuracy=1e-3",
    "zfp:precision=9",
    "zfp:rate=5",
    "zfp:reversible",
    "float32,zfp:accuracy=1,zstd:1,deflate:1",
    "sz3:abs=1e-2",
    "sz3:rel=1e-3,zstd:1",
    "bitgroom:digits=3,shuffle,zstd:1",
    "granularbr:digits=2,zstd:1",
    "bitround:bits=9",
    "sz3:abs=1e-2:mode=speed",
    "sz3:rel=1e-3:mode=ratio",
};

/// One of the pipelines above; none for a codec that this build lacks.
inline forebay::Pipeline pipeline(std::uint8_t choice) {
  const std::string_view text = texts[choice % texts.size()];
  for (const auto& codec : forebay::codec_descriptions())
    if (text.starts_with(codec.name) && !codec.here) return {};
  return forebay::Pipeline::parse(text);
}

/// Chunks of all types, in one to five dimensions, of 1 to 4 KiB.
inline forebay::ChunkInfo chunk(std::uint8_t choice) {
  constexpr std::array types{forebay::Type::float64, forebay::Type::float32, forebay::Type::int16,
                             forebay::Type::uint64};
  static const std::vector<std::vector<forebay::Count>> shapes{
      {513}, {23, 24}, {7, 9, 9}, {3, 5, 6, 7}, {2, 3, 4, 5, 6}, {2, 2, 2, 67}};
  return {types[choice % types.size()], shapes[choice / types.size() % shapes.size()]};
}

}  // namespace fuzz_codec
