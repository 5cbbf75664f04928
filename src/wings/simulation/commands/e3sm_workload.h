// E3SM's history files (bench/workloads/e3sm_case.h) as a workload of the simulation.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "method/method.h"
#include "simulation/workload.h"
#include "workloads/e3sm_case.h"

namespace forebay::tools {

class E3smWorkload : public simulation::Workload {
 public:
  /// Throws what e3sm_case() throws.
  E3smWorkload(const bench::E3smOptions& options, bench::E3smSource source, int ranks,
               const Method& method);

  const Schema& schema() const override { return schema_; }
  Count operations() const override;
  void add_requests(Count operation, Rank rank, std::vector<Request>& requests) const override;

 private:
  using Lists = std::map<std::pair<int, int>, std::shared_ptr<const RunList>>;

  const std::shared_ptr<const RunList>& list_of(int map, int width) const;

  bench::E3smOptions options_;
  bench::E3smSource source_;
  int ranks_;
  Schema schema_;
  std::vector<int> map_of_var_;
  std::vector<bench::E3smPost> posts_;
  // A cache for the last rank, by map and element size:
  mutable Rank rank_ = -1;
  mutable std::vector<bench::Decomposition> maps_;
  mutable Lists lists_;
};

/// Returns a header's definitions. Attributes have sizes only.
Schema schema_of(const bench::cdl::Header& header);

}  // namespace forebay::tools
