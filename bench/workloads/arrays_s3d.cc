#include "workloads/arrays_s3d.h"

#include <algorithm>

#include "workloads/pattern.h"

namespace forebay::bench {
namespace {

// Three factors of `ranks`, the greatest of which is as small as can be; greatest first.
std::array<MPI_Offset, 3> near_cube(int ranks) {
  std::array<MPI_Offset, 3> best{ranks, 1, 1};
  for (MPI_Offset a = 1; a * a * a <= ranks; ++a) {
    if (ranks % a != 0) continue;
    for (MPI_Offset b = a; a * b * b <= ranks; ++b) {
      const MPI_Offset c = ranks / a / b;
      if (ranks / a % b == 0 && c < best[0]) best = {c, b, a};
    }
  }
  return best;
}

}  // namespace

S3dPattern::S3dPattern(const S3dOptions& options, int ranks)
    : options_(options), grid_(near_cube(ranks)) {
  const auto add = [&](const char* name, MPI_Offset components) {
    ArrayVariable variable{name, Element::Double, {}, {}};
    if (components > 1) {
      variable.shape.push_back(components);
      variable.chunk.push_back(components);
    }
    for (const MPI_Offset blocks : grid_) {
      variable.shape.push_back(blocks * options_.edge);
      variable.chunk.push_back(options_.edge);
    }
    variables_.push_back(std::move(variable));
  };
  add("yspecies", 11);
  add("u", 3);
  add("pressure", 1);
  add("temp", 1);
}

nlohmann::json S3dPattern::parameters() const {
  return {{"edge", options_.edge}, {"grid", grid_}, {"variables", variables_.size()}};
}

Box S3dPattern::block(std::size_t variable, int rank) const {
  Box box{std::vector<MPI_Offset>(variables_[variable].shape.size(), 0),
          variables_[variable].chunk};
  MPI_Offset place = rank;
  for (std::size_t axis = 3; axis-- > 0;) {
    box.start[box.start.size() - 3 + axis] = place % grid_[axis] * options_.edge;
    place /= grid_[axis];
  }
  return box;
}

void S3dPattern::fill(std::size_t variable, const Box& box, std::byte* out) const {
  const auto& shape = variables_[variable].shape;
  const std::uint32_t seed = pattern_seed(static_cast<std::int64_t>(variable), 0);
  visit_rows(box, reinterpret_cast<double*>(out), [&](const auto& at, double* row, MPI_Offset n) {
    MPI_Offset first = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) first = first * shape[d] + at[d];
    for (MPI_Offset k = 0; k < n; ++k) row[k] = pattern_value<double>(seed, first + k);
  });
}

}  // namespace forebay::bench
