#include "workloads/arrays_small.h"

#include "workloads/pattern.h"

namespace forebay::bench {

SmallPattern::SmallPattern(const SmallOptions& options, int ranks)
    : options_(options), ranks_(ranks) {
  for (int v = 0; v < options.variables; ++v) {
    variables_.push_back(
        {"variable_" + std::to_string(v), Element::Float, {options.elements}, {options.elements}});
  }
}

nlohmann::json SmallPattern::parameters() const {
  return {{"variables", options_.variables}, {"elements", options_.elements}};
}

Box SmallPattern::block(std::size_t, int rank) const {
  const MPI_Offset first = options_.elements * rank / ranks_;
  const MPI_Offset last = options_.elements * (rank + 1) / ranks_;
  return {{first}, {last - first}};
}

void SmallPattern::fill(std::size_t variable, const Box& box, std::byte* out) const {
  const std::uint32_t seed = pattern_seed(static_cast<std::int64_t>(variable), 0);
  visit_rows(box, reinterpret_cast<float*>(out), [&](const auto& at, float* row, MPI_Offset n) {
    for (MPI_Offset k = 0; k < n; ++k) row[k] = pattern_value<float>(seed, at[0] + k);
  });
}

}  // namespace forebay::bench
