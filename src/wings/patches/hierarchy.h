// The wavelet hierarchy of a patch (Fan et al. 2021, §III-A, §IV-B). Stage `wavelet` of a pipeline
// encodes a chunk as such a hierarchy, each level in a part of its own.
//
// Level 0 is the patch itself. Level k has every axis halved k times, rounded up, and its element i
// is at position i · 2^k of the patch. The first part holds the coarsest level. Each further part
// holds the details that refine a level to the next finer one. A part is a zfp stream of fixed
// accuracy. It holds the seven kinds of details one after another along the slowest axis, padded to
// multiples of four, so that no zfp block mixes two kinds.
//
// With a bound (zfp:accuracy, zfp:relative), the tolerance of level k is τ · 2^-k. The encoder
// searches for τ, starting at four times the bound: it decodes its own streams and compares every
// level with the exact transform. A patch is stored exactly if no τ keeps the bound, or if all
// codecs are lossless. (Its coarser levels then keep a bound up to rounding.) The last part of an
// exact patch also holds the differences, bit for bit, as integers in the order of the numbers,
// encoded by those codecs, and a checksum of the patch. A patch is stored as one value if all its
// values are equal, or if one value is within a quarter of the bound of all levels.
//
// Missing values (codec/missing_values.h) are replaced by averages of their surroundings, and each
// level has a mask of its own for them. A decoded value that would be mistaken for a missing one is
// replaced by the next representable number. docs/formats.md has the grammar.
#pragma once

#include <cstddef>
#include <span>

#include "codec/pipeline.h"

namespace forebay {

/// Reads the head of the first part of a patch with `levels` levels. Errc::enotnc for damaged
/// bytes.
LevelFacts hierarchy_facts(std::span<const std::byte> first_part, int levels);

}  // namespace forebay
