// A file at a coarser level of its variables in patches, for readers who want all of it coarse,
// with coordinates and other variables.
//
// If any variable with that level is cut along a dimension, the dimension has ⌈n / 2^level⌉
// elements, and element i stands where element i · 2^level stood. Every variable is read at that
// level, or at its coarsest one if it has fewer, and of that every stride-th element.
#pragma once

#include <span>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/types.h"

namespace forebay {

struct CoarseVariable {
  int level = 0;              ///< at which it is read
  std::vector<Count> stride;  ///< of elements of that level
  std::vector<Count> step;    ///< the same in elements of the variable
};

struct CoarseSchema {
  /// Chunks keep their shape in the file, but are no longer than the variable.
  Schema schema;
  std::vector<CoarseVariable> vars;
};

/// Returns the distance of a level's elements in elements of the variable, for each dimension:
/// 2^level, or 1 if it is not cut.
std::vector<Count> level_steps(const Variable& var, int level);

/// `levels`: how many levels each variable of the schema has. Throws Errc::einval, with the number
/// of levels, for a level that no variable has.
CoarseSchema coarse_schema(const Schema& schema, std::span<const int> levels, int level);

/// Returns whether it is all of the level at which it is read.
bool is_whole_level(const CoarseVariable& var);
/// Turns a selection of the coarse variable into one of the level at which it is read.
Subarray at_its_level(const CoarseVariable& var, Subarray selection);
/// Does the same for runs. `fine` is the variable at that level. If elements are left out, each
/// one, or each row of remaining neighbours, becomes a run of its own: 16 bytes each.
Runs at_its_level(const CoarseVariable& its, const Variable& coarse, const Variable& fine,
                  const Runs& selection);

}  // namespace forebay
