// What an input to fuzz_hierarchy is: a pipeline, a shape, and the parts of a patch, each behind
// its length in two bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/pipeline.h"

namespace fuzz_hierarchy {

inline constexpr std::array texts{"wavelet:1,zfp:accuracy=1e-2", "wavelet:2,zfp:relative=1e-3",
                                  "wavelet:2", "wavelet:3,shuffle,zstd:1"};

inline forebay::Pipeline pipeline(std::uint8_t choice) {
  return forebay::Pipeline::parse(texts[choice % texts.size()]);
}

inline forebay::ChunkInfo chunk(std::uint8_t choice) {
  static const std::array<std::byte, 8> fill{std::byte{0x40}, std::byte{1}};
  static const std::vector<std::vector<forebay::Count>> shapes{{37},      {9, 14},       {8, 8, 8},
                                                               {5, 6, 7}, {1, 1, 12, 9}, {1}};
  const bool single = choice % 2 == 0;
  return {single ? forebay::Type::float32 : forebay::Type::float64,
          shapes[choice / 2 % shapes.size()],
          std::span<const std::byte>(fill).first(single ? 4 : 8), 10};
}

}  // namespace fuzz_hierarchy
