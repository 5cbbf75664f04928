// A file at a coarser level (array/coarse_schema.h), and all levels of a file, as a Source.
#pragma once

#include <memory>
#include <vector>

#include "array/coarse_schema.h"
#include "files/source.h"

namespace forebay {

/// How many coarser levels each variable has.
std::vector<int> levels_of(const Source& source);

/// A view of another source, of which each read reads what the level needs. What was in patches is
/// in chunks of as many elements, without loss. Errc::einval for a level that no variable has.
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

/// Every level as a group, "0" to the coarsest, with the global attributes of the file. Coarser
/// ones have the variables that are shorter there, coordinates and scalars.
class Pyramid final : public Source {
 public:
  /// Errc::einval where no variable has coarser levels.
  explicit Pyramid(std::shared_ptr<const Source> source);

  const std::string& path() const override { return source_->path(); }
  std::string format() const override { return source_->format(); }
  const Schema& schema() const override { return schema_; }
  const Pyramid* pyramid() const override { return this; }
  const std::vector<SourceGroup>& groups() const override { return groups_; }
  void read(VarId var, const Subarray& selection, void* out) const override;

  /// The file itself.
  const Source& source() const { return *source_; }
  /// Of a variable of the file, how far apart its elements are at each level that it has.
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
