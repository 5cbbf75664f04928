// zfp streams of three-dimensional arrays with a fixed accuracy, bit for bit as libzfp makes them,
// but several times as fast on x86-64 processors with AVX2. Vectors extract and insert the bit
// planes of a block, and runs of bits are read and written at once.
//
// A block of 4³ values begins with a bit: 0 if all values are within the tolerance, else 1. Then
// follow the exponent of the largest value and the bit planes of 64 integers, the most significant
// first. The integers are the values as fixed-point numbers, transformed along x, y and z, ordered
// from smooth to rough, in base -2. In each plane the bits of the first n integers are written as
// they are, where n is the number of integers up to the last one that had a 1 in an earlier plane.
// The others are run-length coded: a bit says whether there is another 1, then come the zeros
// before it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "codec/zfp_stream.h"

namespace forebay::zfp_blocks {

/// Returns whether this processor has AVX2, and the field is one of three dimensions.
bool can(const ZfpField& field, const ZfpMode& mode);

/// As zfp_compress_to(), for fields for which can() is true.
std::size_t compress(const ZfpField& field, double tolerance, std::span<std::byte> out,
                     std::byte* back);
/// Reads a stream of any bytes, and nothing beyond it. Returns how many bytes it used, in whole
/// words; nothing if the stream is too short.
std::optional<std::size_t> decompress(std::span<const std::byte> stream, const ZfpField& field,
                                      double tolerance);

}  // namespace forebay::zfp_blocks
