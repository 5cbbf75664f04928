// zfp's streams of three-dimensional arrays with a fixed accuracy, bit for bit those of libzfp, on
// x86-64 processors with AVX2 several times as fast: bit planes are taken out of a block's values,
// and put into them, by vectors, and runs of bits are written and read at once.
//
// A block of 4³ values: a bit, 0 where all are within the tolerance, 1 otherwise; then the exponent
// of the largest, and the planes of 64 integers, high ones first. These come of the values as
// fixed-point numbers, transformed along x, y and z, ordered from smooth to rough, in base -2. Of a
// plane the bits of the first n are written as they are, where n is as many as have had a 1 in any
// plane; of the others, each time, whether there is a 1 at all, and the zeros before it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "codec/zfp_stream.h"

namespace forebay::zfp_blocks {

/// Whether this processor has what it takes, and the field is one of three dimensions.
bool can(const ZfpField& field, const ZfpMode& mode);

/// As zfp_compress_to(), of what can() is true.
std::size_t compress(const ZfpField& field, double tolerance, std::span<std::byte> out,
                     std::byte* back);
/// Reads a stream of any bytes, and none beyond it. Returns how many of them it took, in whole
/// words; nothing where it would have needed more.
std::optional<std::size_t> decompress(std::span<const std::byte> stream, const ZfpField& field,
                                      double tolerance);

}  // namespace forebay::zfp_blocks
