// One coarser level of a file (coarse_schema.h), or all its levels, as a Source.
#pragma once

#include <memory>
#include <vector>

#include "files/classic_file.h"
#include "files/source.h"
#include "patches/coarse_schema.h"

namespace forebay {

/// Returns the number of coarser levels of each variable.
std::vector<int> levels_of(const Source& source);
/// Returns the schema of a file at a level. Errc::einval if no variable has it.
CoarseSchema coarse_schema_of(const ClassicFile& file, int level);

/// A view of another source at one level. Each read gets only what the level needs. Variables in
/// patches appear in chunks of as many elements, with a lossless codec. Errc::einval if no variable
/// has the level.
class LevelSource final : public Source {
 public:
  LevelSource(std::shared_ptr<const Source> source, int level);

  const std::string& path() const override { return source_->path(); }
  std::string format() const override { return source_->format(); }
  std::optional<int> classic_version() const override { return source_->classic_version(); }
  const Schema& schema() const override { return coarse_.schema; }
  void read(VarId var, const Subarray& selection, void* out) const override;

  const std::vector<CoarseVariable>& vars() const { return coarse_.vars; }

 private:
  std::shared_ptr<const Source> source_;
  CoarseSchema coarse_;
};

/// Every level as a group, from "0" to the coarsest, with the global attributes of the file.
/// Coarser groups have the variables that are smaller there, coordinates and scalars.
class Pyramid final : public Source {
 public:
  /// Errc::einval if no variable has coarser levels.
  explicit Pyramid(std::shared_ptr<const Source> source);

  const std::string& path() const override { return source_->path(); }
  std::string format() const override { return source_->format(); }
  const Schema& schema() const override { return schema_; }
  const std::vector<SourceGroup>& groups() const override { return groups_; }
  void read(VarId var, const Subarray& selection, void* out) const override;

  /// The file itself.
  const Source& source() const { return *source_; }
  /// Returns the distances between elements of a variable of the file, at each of its levels.
  std::vector<std::vector<Count>> steps(VarId var) const;

 private:
  void add_level(int level);

  struct Place {
    std::size_t level = 0;
    VarId var = 0;
  };
  std::shared_ptr<const Source> source_;
  std::vector<LevelSource> levels_;
  std::vector<Place> places_;  // by variable
  Schema schema_;
  std::vector<SourceGroup> groups_;
};

}  // namespace forebay
