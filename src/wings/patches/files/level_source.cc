#include "patches/files/level_source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "base/text_table.h"
#include "codec/pipeline.h"
#include "dataset/copying.h"

namespace forebay {
namespace {

const ClassicFile& classic_file_of(const Source& source) {
  if (source.classic() != nullptr) return *source.classic();
  throw Error(Errc::einval,
              printable(source.path()) + ": a " + source.format() + " file has no levels",
              "variables in patches have (layout=patches)");
}

// Values of a level must not change: a lossy codec would add its errors to theirs.
std::string codec_of_level(const std::string& codec) {
  return is_lossy_codec(codec) ? "shuffle,zstd:3" : Pipeline::without_levels(codec);
}

// A reader of one level needs coordinates and scalars too.
bool is_coordinate_or_scalar(const Schema& schema, const Variable& var) {
  return var.ndims() == 0 ||
         (var.ndims() == 1 &&
          schema.dims[static_cast<std::size_t>(var.dimids[0])].name == var.name);
}

}  // namespace

std::vector<int> levels_of(const Source& source) {
  std::vector<int> levels(source.schema().vars.size(), 0);
  if (source.classic() == nullptr) return levels;
  for (std::size_t v = 0; v < levels.size(); ++v)
    levels[v] = source.classic()->levels(static_cast<VarId>(v));
  return levels;
}

CoarseSchema coarse_schema_of(const ClassicFile& file, int level) {
  std::vector<int> levels;
  for (std::size_t v = 0; v < file.schema().vars.size(); ++v)
    levels.push_back(file.levels(static_cast<VarId>(v)));
  return naming(file.path(), [&] { return coarse_schema(file.schema(), levels, level); });
}

LevelSource::LevelSource(std::shared_ptr<const Source> source, int level)
    : source_(std::move(source)), coarse_(coarse_schema_of(classic_file_of(*source_), level)) {
  const std::vector<int> levels = levels_of(*source_);
  for (std::size_t v = 0; v < levels.size(); ++v) {
    auto& chunking = coarse_.schema.vars[v].chunking;
    if (levels[v] > 0) chunking->codec = codec_of_level(chunking->codec);
  }
}

void LevelSource::read(VarId id, const Subarray& selection, void* out) const {
  const CoarseVariable& var = coarse_.vars[static_cast<std::size_t>(id)];
  const Subarray its = at_its_level(var, selection);
  if (var.level == 0) return source_->read(id, its, out);
  source_->classic()->read(id, its, schema().vars[static_cast<std::size_t>(id)].type, out, 1,
                           var.level);
}

Pyramid::Pyramid(std::shared_ptr<const Source> source) : source_(std::move(source)) {
  const std::vector<int> levels = levels_of(*source_);
  const int most = levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end());
  if (most == 0)
    throw Error(Errc::einval, printable(path()) + ": no variable has coarser levels",
                "those in patches have (layout=patches)");
  schema_.version = source_->schema().version;
  schema_.numrecs = source_->schema().numrecs;
  schema_.attributes = source_->schema().attributes;
  for (int level = 0; level <= most; ++level) add_level(level);
}

void Pyramid::add_level(int level) {
  const std::string group = std::to_string(level), prefix = group + "/";
  const Schema& its = levels_.emplace_back(source_, level).schema();
  groups_.push_back({group, its.attributes});
  const auto first = static_cast<DimId>(schema_.dims.size());
  for (const Dimension& dim : its.dims) schema_.add_dim({prefix + dim.name, dim.length});
  for (std::size_t v = 0; v < its.vars.size(); ++v) {
    const std::vector<Count>& step = levels_.back().vars()[v].step;
    const bool shorter = std::any_of(step.begin(), step.end(), [](Count s) { return s > 1; });
    if (level > 0 && !shorter && !is_coordinate_or_scalar(its, its.vars[v])) continue;
    Variable var = its.vars[v];
    var.name = prefix + var.name;
    for (DimId& dim : var.dimids) dim += first;
    schema_.add_var(std::move(var));
    places_.push_back({levels_.size() - 1, static_cast<VarId>(v)});
  }
}

void Pyramid::read(VarId var, const Subarray& selection, void* out) const {
  const Place& place = places_[static_cast<std::size_t>(var)];
  levels_[place.level].read(place.var, selection, out);
}

std::vector<std::vector<Count>> Pyramid::steps(VarId var) const {
  std::vector<std::vector<Count>> steps;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    const CoarseVariable& its = levels_[level].vars()[static_cast<std::size_t>(var)];
    if (std::cmp_equal(its.level, level)) steps.push_back(its.step);
  }
  return steps;
}

}  // namespace forebay
