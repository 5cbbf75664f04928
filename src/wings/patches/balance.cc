#include "patches/balance.h"

#include <algorithm>
#include <map>

#include "comm/agree.h"
#include "patches/plan/morton.h"
#include "patches/planning.h"

namespace forebay::patches {
namespace {

using chunked::SizedChunk, chunked::WrittenVariable;

/// The positions of the chunks of several variables. Each grid in space has its cells in Morton
/// order, and the grids follow each other.
class Positions {
 public:
  explicit Positions(std::span<const WrittenVariable> written) {
    std::map<std::vector<Count>, std::size_t> known;
    for (const WrittenVariable& its : written) {
      const auto [place, is_new] = known.try_emplace(grid_in_space(its), grids_.size());
      if (is_new) {
        grids_.push_back({MortonOrder(place->first), count_});
        count_ += grids_.back().order.cells();
      }
      variables_.emplace_back(its, place->second);
    }
  }

  Count count() const { return count_; }
  Count of(const SizedChunk& chunk) const {
    const auto& [its, number] = variables_[chunk.written];
    const auto at = its.grid->coordinates(chunk.id);
    const auto& [order, first] = grids_[number];
    return first + order.number_of(std::span(at).subspan(first_of_space(*its.var)));
  }

 private:
  struct Grid {
    MortonOrder order;
    Count first;  // of its positions
  };

  /// The dimensions of a grid that are spatial: the last three besides records, as for patches.
  static std::size_t first_of_space(const Variable& var) {
    const auto n = static_cast<std::size_t>(var.ndims()), records = std::size_t{var.is_record};
    return n - std::min<std::size_t>(n - records, 3);
  }
  static std::vector<Count> grid_in_space(const WrittenVariable& its) {
    std::vector<Count> lengths;
    for (std::size_t d = first_of_space(*its.var); d < its.grid->lengths().size(); ++d)
      lengths.push_back(its.grid->grid_length(static_cast<int>(d)));
    return lengths;
  }

  std::vector<std::pair<WrittenVariable, std::size_t>> variables_;  // with the number of its grid
  std::vector<Grid> grids_;
  Count count_ = 0;
};

}  // namespace

std::vector<std::uint32_t> share_out(const Comm& comm, std::span<const WrittenVariable> written,
                                     std::span<const SizedChunk> mine, Count files) {
  const Positions positions(written);
  std::vector<PatchSize> sizes;
  sizes.reserve(mine.size());
  for (const SizedChunk& chunk : mine) sizes.push_back({positions.of(chunk), chunk.bytes});
  // Positions that nobody writes have no home. So a write to a part of the domain is shared by all
  // ranks, too.
  std::int64_t around[] = {INT64_MIN + 1, INT64_MIN + 1};  // the least one, negative; the greatest
  for (const PatchSize& its : sizes) {
    around[0] = std::max(around[0], -its.position);
    around[1] = std::max(around[1], its.position);
  }
  comm.all_reduce(around, Reduce::max);
  if (around[1] < 0) return {};
  const Count first = -around[0];
  for (PatchSize& its : sizes) its.position -= first;
  const auto known = balance_files(comm, sizes, around[1] - first + 1, files);
  std::vector<std::uint32_t> found;
  found.reserve(mine.size());
  for (const PatchSize& its : sizes) {
    const auto place = std::lower_bound(
        known.begin(), known.end(), its.position,
        [](const PatchFile& file, Count position) { return file.position < position; });
    // A rank without memory reports that in the next reduction, which comes after this.
    if (place == known.end() || place->position != its.position)
      throw error_of_others(to_int(Errc::enomem), "another rank could not tell files of patches");
    found.push_back(static_cast<std::uint32_t>(place->file));
  }
  return found;
}

}  // namespace forebay::patches
