// A patch as a hierarchy of levels (H §III-A, IV-B): what stage `wavelet` of a pipeline makes of a
// chunk, each level in a part of its own.
//
// Level 0 is the patch itself; level k has every axis halved k times, rounded up, and element i of
// it stands where element i · 2^k of the patch does. The first part has the coarsest level, each
// further one the details that turn a level into the next finer one. A part is zfp's stream of
// fixed accuracy: the seven kinds of details one behind another along the slowest axis, padded to
// multiples of four, so that no block of zfp's mixes two.
//
// Within a bound (zfp:accuracy, zfp:relative): the tolerance of level k is τ · 2^-k. τ is looked
// for from four times the bound on: what was made is decoded, and every level compared with what
// the transform made of the values. A patch that keeps its bound with no τ, and any with lossless
// codecs, is exact (its coarser levels keep a bound but for rounding): the last part has the
// differences too, as integers in the order of the numbers, bit for bit, through those codecs, and
// a checksum of the patch. Values that are equal, or so close that one is within a quarter of the
// bound of all levels, are one.
//
// Fill values and what is not finite are masked, each level by a mask of its own, and replaced by
// averages of their surroundings. A value that would be read as the fill value without being one is
// the number beside that. docs/formats.md has the grammar.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace forebay {

struct HierarchyFacts {
  bool lossy = false;  ///< level 0 may differ from what was written
  /// No element is missing at any level, so that details which are left out are small.
  bool whole = false;
  /// Largest difference of any level from what the transform makes of the exact patch, and of
  /// level 0, where that is less, as exact patches have none.
  double error = 0, finest_error = 0;
  /// For each level k, from 0 on, but for the coarsest one: how much the details of which level
  /// k + 1 lacks can be. The sum of the first k bounds the difference between level k, taken back
  /// without details, and the patch, but for `error`.
  std::vector<double> details;
};

/// Of the first part of a patch with so many levels. Errc::enotnc for bytes that are none.
HierarchyFacts hierarchy_facts(std::span<const std::byte> first_part, int levels);

}  // namespace forebay
