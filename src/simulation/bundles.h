// What becomes of files that are written together, by each scheme (plan/bundle.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/bundle.h"

namespace forebay::simulation {

struct BundleForecast {
  BundlePlan plan;
  BundlePrediction predicted;
};

/// Of these schemes, in their order. Errors as plan_bundle() has them.
std::vector<BundleForecast> forecast_bundle(std::span<const std::int64_t> bytes, int ranks,
                                            int ranks_per_node,
                                            std::span<const BundleScheme> schemes,
                                            const BundleRates& rates);

}  // namespace forebay::simulation
