#include "array/coarse_schema.h"

#include <algorithm>
#include <string>

#include "array/chunk_grid.h"
#include "base/error.h"

namespace forebay {
namespace {

// Of dimensions: 2^level where a variable that has the level is cut along it, else 1.
std::vector<Count> steps_of_dimensions(const Schema& schema, std::span<const int> levels,
                                       int level) {
  std::vector<Count> steps(schema.dims.size(), 1);
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    if (level == 0 || levels[v] < level) continue;
    const Variable& var = schema.vars[v];
    const std::vector<Count> own = level_steps(var, level);
    for (std::size_t d = 0; d < own.size(); ++d) {
      Count& step = steps[static_cast<std::size_t>(var.dimids[d])];
      step = std::max(step, own[d]);
    }
  }
  return steps;
}

bool divides(std::span<const Count> own, std::span<const Count> steps) {
  return std::equal(own.begin(), own.end(), steps.begin(),
                    [](Count a, Count b) { return b % a == 0; });
}

CoarseVariable coarse_variable(const Variable& var, int level, std::vector<Count> steps) {
  CoarseVariable coarse;
  coarse.level = level;
  std::vector<Count> own = level_steps(var, level);
  // Of a dimension that stays as it is there are no coarser elements to be had.
  if (!divides(own, steps)) own = level_steps(var, coarse.level = 0);
  for (std::size_t d = 0; d < own.size(); ++d) coarse.stride.push_back(steps[d] / own[d]);
  coarse.step = std::move(steps);
  return coarse;
}

}  // namespace

std::vector<Count> level_steps(const Variable& var, int level) {
  std::vector<Count> steps(var.dimids.size(), 1);
  if (level == 0) return steps;
  for (std::size_t d = 0; d < steps.size(); ++d)
    if (is_cut(var, d)) steps[d] = Count{1} << level;
  return steps;
}

CoarseSchema coarse_schema(const Schema& schema, std::span<const int> levels, int level) {
  const int most = levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end());
  if (level < 0 || level > most)
    throw Error(Errc::einval, "no variable has a level " + std::to_string(level),
                most == 0 ? "only variables in patches have coarser levels (layout=patches)"
                          : "there are levels 0, which is all of it, to " + std::to_string(most));
  const std::vector<Count> steps = steps_of_dimensions(schema, levels, level);
  CoarseSchema coarse;
  coarse.schema = schema;
  for (std::size_t d = 0; d < steps.size(); ++d) {
    Count& length = coarse.schema.dims[d].length;
    if (length > 0) length = (length - 1) / steps[d] + 1;
  }
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    Variable& var = coarse.schema.vars[v];
    std::vector<Count> its_steps;
    for (const DimId dim : var.dimids) its_steps.push_back(steps[static_cast<std::size_t>(dim)]);
    coarse.vars.push_back(
        coarse_variable(schema.vars[v], std::min(level, levels[v]), std::move(its_steps)));
    coarse.schema.derive(var);
    if (!var.chunking) continue;
    for (std::size_t d = var.is_record ? 1 : 0; d < var.chunking->shape.size(); ++d)
      var.chunking->shape[d] = std::min(var.chunking->shape[d], var.shape[d]);
  }
  return coarse;
}

Subarray at_its_level(const CoarseVariable& var, Subarray selection) {
  if (selection.stride.empty()) selection.stride.assign(selection.start.size(), 1);
  for (std::size_t d = 0; d < selection.start.size(); ++d) {
    selection.start[d] *= var.stride[d];
    selection.stride[d] *= var.stride[d];
  }
  return selection;
}

}  // namespace forebay
