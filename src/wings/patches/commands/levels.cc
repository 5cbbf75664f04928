// One level of a file, or all of them, for `convert`; with metadata of OME-NGFF (0.4, the version
// for Zarr 2) for a store of all levels.

#include "tools/convert/levels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "patches/files/level_source.h"

namespace forebay::tools {
namespace {

using zarr::Json;

/// Returns null if OME-NGFF does not allow so many dimensions. Patches are cut along the last three
/// (two) dimensions that are not records (docs/patches.md).
Json axes_of(const Schema& schema, const Variable& var) {
  const int first = var.is_record ? 1 : 0;
  const int space = std::min(3, var.ndims() - first);
  const int channels = var.ndims() - first - space;
  if (channels > 1 || space < 2) return {};
  Json axes = Json::array();
  for (int d = 0; d < var.ndims(); ++d) {
    const DimId dim = var.dimids[static_cast<std::size_t>(d)];
    axes.push_back({{"name", schema.dims[static_cast<std::size_t>(dim)].name},
                    {"type", d < first              ? "time"
                             : d < first + channels ? "channel"
                                                    : "space"}});
  }
  return axes;
}

Json dataset(const std::string& path, const std::vector<Count>& step) {
  const std::vector<double> scale(step.begin(), step.end());
  return {{"path", path},
          {"coordinateTransformations",
           {{{"type", "scale"}, {"scale", scale}},
            {{"type", "translation"}, {"translation", std::vector<double>(step.size(), 0.0)}}}}};
}

/// Returns the attribute "multiscales" of a Pyramid. For each variable in patches it has the arrays
/// "0/NAME", "1/NAME", …, with scale 2^k along the dimensions that are cut, and translation 0. It
/// includes only variables with axes that OME-NGFF allows: records (time), at most one channel, and
/// two or three dimensions of space.
zarr::JsonAttribute multiscales(const Source& all) {
  const auto& pyramid = static_cast<const Pyramid&>(all);
  Json scales = Json::array();
  const Schema& schema = pyramid.source().schema();
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    const Variable& var = schema.vars[v];
    const auto steps = pyramid.steps(static_cast<VarId>(v));
    Json axes = steps.size() > 1 ? axes_of(schema, var) : Json();
    if (axes.is_null()) continue;
    Json datasets = Json::array();
    for (std::size_t level = 0; level < steps.size(); ++level)
      datasets.push_back(dataset(std::to_string(level) + "/" + var.name, steps[level]));
    scales.push_back({{"version", "0.4"},
                      {"name", var.name},
                      {"axes", std::move(axes)},
                      {"datasets", std::move(datasets)},
                      {"type", "wavelet"},
                      {"metadata", {{"method", "CDF 5/3, smooth part"}}}});
  }
  return {"multiscales", std::move(scales)};
}

std::unique_ptr<Source> source_at_level(std::shared_ptr<const Source> source, int level) {
  return std::make_unique<LevelSource>(std::move(source), level);
}

std::unique_ptr<Source> pyramid_of(std::shared_ptr<const Source> source) {
  return std::make_unique<Pyramid>(std::move(source));
}

}  // namespace

extern const LevelsEntry patch_levels{source_at_level, pyramid_of, multiscales};

}  // namespace forebay::tools
