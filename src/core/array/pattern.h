// Patterns: which elements of an array one write selects, in the form in which the log layout
// stores, compares and looks them up (Hou 2023, §6.2.2, §6.2.3).
//
// A pattern is a subarray of the leading dimensions times a list of runs over the others,
// flattened. Codes that write by a decomposition select the same elements of the horizontal
// dimension for each record and level: that is one short list of runs, not one for each level. A
// selection without such a shape is a list of runs over the whole array.
//
//     time × lev × ncol, record 7, all levels, columns 3-4 and 9:
//       base 7    outer (0,1) × (0,72)    runs 3+2, 9+1
//
// The first coordinate along dimension 0, the base, is taken out, so that the same selection in
// another record is the same pattern. Runs are in increasing order and disjoint. So elements are in
// row-major order, in which their values are stored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/selection.h"
#include "base/types.h"

namespace forebay {

/// Equally spaced coordinates along one dimension.
struct Steps {
  Count start = 0, count = 0, stride = 1;

  Count last() const { return start + (count - 1) * stride; }
  bool operator==(const Steps&) const = default;
};

/// A run in the flattened dimensions, and the index of its first element among those selected.
struct PatternRun {
  Offset offset;
  Count length, position;

  Offset end() const { return offset + length; }
  bool operator==(const PatternRun&) const = default;
};

/// Appends a run behind all others, or extends the last one.
void append_run(std::vector<PatternRun>& runs, Offset offset, Count length);

struct Pattern {
  /// Extents of dimensions 1 … n-1 when the selection was made. Flattening depends on them.
  std::vector<Count> inner;
  std::vector<Steps> outer;  ///< of the leading dimensions; outer[0] counts from the base
  /// Runs over the other dimensions, flattened, in elements; with none left, one run of length 1.
  /// If `outer` is empty, offsets count from the base's first element. Positions are running sums.
  std::vector<PatternRun> runs;

  std::size_t ndims() const { return inner.size() + 1; }
  /// Returns elements per index of dimension d - 1: the product of extents d … n-1.
  Count below(std::size_t d) const;
  Count run_elements() const { return runs.back().position + runs.back().length; }
  Count elements() const;
  bool operator==(const Pattern&) const = default;
};

/// A pattern and where it lies.
struct Placed {
  Pattern pattern;
  Count base = 0;
};

/// Returns the pattern of a box. `steps` has one entry for each extent; all counts are ≥ 1.
Placed box_pattern(std::span<const Count> extents, std::span<const Steps> steps);
Placed box_pattern(std::span<const Count> extents, const Subarray& box);

/// Returns the pattern of blocks whose leading coordinates relate in no particular way. `blocks`
/// has for each the first coordinates, then the last ones, as HDF5 lists hyperslabs. Leading
/// dimensions in which all blocks have the same range become `outer`. Returns nothing if more than
/// one dimension remains (several blocks would interleave): use runs_pattern.
std::optional<Placed> blocks_pattern(std::span<const Count> extents,
                                     std::span<const std::uint64_t> blocks);

/// Returns the pattern of runs over the whole array, flattened. Neighbours are merged.
Placed runs_pattern(std::span<const Count> extents, std::span<const Run> runs);

/// Bounds of a placed pattern: the first and one past the last coordinate of each dimension (`low`,
/// `high`), and the same of flattened elements. Exact, except for runs over several dimensions,
/// whose inner bounds are the whole extent.
struct Bounds {
  std::vector<Count> low, high;
  Count first = 0, last = 0;
  std::vector<Count> inner;  ///< extents that `first` and `last` are flattened by
};
Bounds bounds_of(const Pattern& pattern, Count base);

/// Elements that two selections share: `count` neighbours, from the `a`-th of one and the `b`-th of
/// the other on.
struct Shared {
  Count a, b, count;
};

/// Appends elements that two sides have, {first here, first there, count}, or extends the last
/// piece if these follow it on both sides.
template <typename Piece>
void append_piece(std::vector<Piece>& pieces, const Piece& next) {
  const auto& [here, there, more] = next;
  if (!pieces.empty()) {
    auto& [last_here, last_there, count] = pieces.back();
    if (last_here + count == here && last_there + count == there) {
      count += more;
      return;
    }
  }
  pieces.push_back(next);
}

/// A list of shared elements whose places are all shifted by the same numbers.
struct SharedList {
  std::span<const Shared> pieces;
  Count a = 0, b = 0;
};

/// Calls `visit` with the elements that `a` and `b` share, in increasing order. A list is valid
/// during the call. The two may have been made at different extents: coordinates count, not
/// flattened places. Costs time for what they share, and for the shorter list of runs times the
/// logarithm of the longer one's length; costs memory for runs that meet.
void intersect(const Pattern& a, Count a_base, const Pattern& b, Count b_base,
               const std::function<void(const SharedList&)>& visit);

/// Returns why no function above makes this pattern: negative or overflowing numbers, runs out of
/// order or outside. To be called first for a pattern that was read from a file.
std::optional<std::string> fault_of(const Pattern& pattern);
/// Returns whether the pattern's elements have 63-bit places at that base.
bool base_fits(const Pattern& pattern, Count base);

}  // namespace forebay
