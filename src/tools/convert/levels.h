// A file at coarser levels of its variables, as `convert` writes it. A wing brings it.
#pragma once

#include <memory>
#include <span>

#include "files/source.h"
#include "files/zarr.h"

namespace forebay::tools {

struct LevelsEntry {
  /// Return the source at one level, and all its levels as groups. Errc::einval if no variable has
  /// the level, or any level but the finest.
  std::unique_ptr<Source> (*at_level)(std::shared_ptr<const Source> source, int level);
  std::unique_ptr<Source> (*all_levels)(std::shared_ptr<const Source> source);
  /// Returns what a Zarr store says of all levels, for what all_levels() returned.
  zarr::JsonAttribute (*zarr_attribute)(const Source& all);
};

/// Returns all that wings bring: one at most. Generated.
std::span<const LevelsEntry* const> built_in_levels();

/// Errc::enotsupport if no wing of this build brings any.
const LevelsEntry& levels_of_build();

}  // namespace forebay::tools
