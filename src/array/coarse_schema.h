// A file as it is at a coarser level of its variables in patches: what readers see who want all of
// it so, coordinates and other variables too.
//
// A dimension that any variable with that level is cut along has ⌈n / 2^level⌉ elements, and
// element i of it stands where element i · 2^level did. Every variable is read at its own level, or
// at its coarsest one where it has fewer, and of that every stride-th element.
#pragma once

#include <span>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/types.h"

namespace forebay {

struct CoarseVariable {
  int level = 0;              ///< that it is read at
  std::vector<Count> stride;  ///< of elements of that level
  std::vector<Count> step;    ///< the same in elements of the variable
};

struct CoarseSchema {
  /// Chunks have the shape that they have in the file, or that of the variable where it is shorter.
  Schema schema;
  std::vector<CoarseVariable> vars;
};

/// How far apart elements of a level are in those of the variable, in each dimension: 2^level, or 1
/// where it is not cut.
std::vector<Count> level_steps(const Variable& var, int level);

/// `levels`: how many each variable of the schema has. Errc::einval, naming how many there are, for
/// a level that no variable has.
CoarseSchema coarse_schema(const Schema& schema, std::span<const int> levels, int level);

/// Whether it is all of the level that it is read at.
bool is_whole_level(const CoarseVariable& var);
/// A selection of the coarse variable as one of the level that it is read at.
Subarray at_its_level(const CoarseVariable& var, Subarray selection);
/// The same of runs. `fine`: what the variable is at that level. Where elements are left out every
/// one, or every row of those that are neighbours still, is a run of its own: 16 bytes each.
Runs at_its_level(const CoarseVariable& its, const Variable& coarse, const Variable& fine,
                  const Runs& selection);

}  // namespace forebay
