// The layout of the bitshuffle library (bitshuffle.cc describes it).
#pragma once

#include <cstddef>

#include "codec/codec_stage.h"

namespace forebay {

/// Shuffles the bits of n elements of `width` bytes (1, 2, 4 or 8) in blocks of `block` elements, a
/// multiple of 8 above 0. `dst` and `src` have n * width bytes and must not overlap.
void shuffle_bits(std::byte* dst, const std::byte* src, std::size_t n, std::size_t width,
                  std::size_t block, ScratchBuffer& scratch);
void unshuffle_bits(std::byte* dst, const std::byte* src, std::size_t n, std::size_t width,
                    std::size_t block, ScratchBuffer& scratch);

}  // namespace forebay
