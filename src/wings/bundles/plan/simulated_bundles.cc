#include "bundles/plan/simulated_bundles.h"

namespace forebay::simulation {

std::vector<BundleForecast> forecast_bundle(std::span<const std::int64_t> bytes, int ranks,
                                            int ranks_per_node,
                                            std::span<const BundleScheme> schemes,
                                            const BundleRates& rates) {
  std::vector<BundleForecast> all;
  for (const BundleScheme scheme : schemes) {
    BundleForecast one{plan_bundle(bytes, ranks, ranks_per_node, scheme), {}};
    one.predicted = predict(one.plan, rates);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace forebay::simulation
