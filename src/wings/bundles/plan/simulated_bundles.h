// Predicts the cost of files that are written together, for each scheme
// (bundles/plan/bundle_plan.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bundles/plan/bundle_plan.h"

namespace forebay::simulation {

struct BundleForecast {
  BundlePlan plan;
  BundlePrediction predicted;
};

/// Predictions for these schemes, in their order. Errors as for plan_bundle().
std::vector<BundleForecast> forecast_bundle(std::span<const std::int64_t> bytes, int ranks,
                                            int ranks_per_node,
                                            std::span<const BundleScheme> schemes,
                                            const BundleRates& rates);

}  // namespace forebay::simulation
