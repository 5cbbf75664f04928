#include "patches/coarse_schema.h"

#include <algorithm>
#include <string>

#include "array/chunk_grid.h"
#include "base/error.h"

namespace forebay {
namespace {

// Returns for each dimension 2^level if a variable with that level is cut along it, else 1.
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
  // A dimension that stays as it is has no coarser elements.
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

bool is_whole_level(const CoarseVariable& var) {
  return std::all_of(var.stride.begin(), var.stride.end(), [](Count s) { return s == 1; });
}

Subarray at_its_level(const CoarseVariable& var, Subarray selection) {
  if (is_whole_level(var)) return selection;
  if (selection.stride.empty()) selection.stride.assign(selection.start.size(), 1);
  for (std::size_t d = 0; d < selection.start.size(); ++d) {
    selection.start[d] *= var.stride[d];
    selection.stride[d] *= var.stride[d];
  }
  return selection;
}

namespace {

// Turns consecutive elements of a coarse variable into runs of the variable that it is read from.
// They stay in order, because all coordinates grow.
class Scatter {
 public:
  Scatter(const Variable& coarse, const Variable& fine, const CoarseVariable& its)
      : width_(size_of(coarse.type)), shape_(coarse.shape), stride_(its.stride) {
    Count step = width_;
    for (std::size_t d = shape_.size(); d-- > 0;) {
      step_.insert(step_.begin(), step);
      step *= d == 0 ? 1 : fine.shape[d];  // records have no end
    }
  }

  void add(Offset offset, Count length, RunList& list) const {
    for (const Offset end = offset + length; offset < end;) {
      const auto [there, bytes] = place_of(offset / width_);
      list.runs.push_back({there, std::min(bytes, end - offset)});
      offset += list.runs.back().length;
    }
  }

 private:
  // Returns where an element lies, and how many bytes are together from there on.
  Run place_of(Count element) const {
    Run run{0, width_};
    for (std::size_t d = shape_.size(); d-- > 0;) {
      const Count at = d == 0 ? element : element % shape_[d];
      run.offset += at * stride_[d] * step_[d];
      if (d == 0) break;
      if (d + 1 == shape_.size() && stride_[d] == 1) run.length = (shape_[d] - at) * width_;
      element /= shape_[d];
    }
    return run;
  }

  Count width_;
  std::vector<Count> shape_, stride_, step_;  // step_: bytes between neighbours
};

}  // namespace

Runs at_its_level(const CoarseVariable& its, const Variable& coarse, const Variable& fine,
                  const Runs& selection) {
  if (is_whole_level(its)) return selection;
  const Scatter scatter(coarse, fine, its);
  const RunList& from = *selection.list;
  auto list = std::make_shared<RunList>();
  list->bytes = from.bytes;
  list->overlapping = from.overlapping;
  for (std::size_t i = 0; i < from.runs.size(); ++i) {
    const std::size_t first = list->runs.size();
    scatter.add(selection.base + from.runs[i].offset, from.runs[i].length, *list);
    if (from.memory.empty()) continue;
    Offset position = from.memory[i];
    for (std::size_t j = first; j < list->runs.size(); ++j) {
      list->memory.push_back(position);
      position += list->runs[j].length;
    }
  }
  return {std::move(list), 0};
}

}  // namespace forebay
