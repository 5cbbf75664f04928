// How often a model runs, and which tier is written and read how often, where states of an adjoint
// are kept as plan/checkpoint_schedule.h says.
#pragma once

#include <vector>

#include "base/types.h"

namespace forebay::simulation {

struct AdjointTier {
  Count states = 0;  ///< at a time, at most
  Count writes = 0, reads = 0;
};

struct AdjointForecast {
  Count advances = 0;  ///< steps that run, without the one before each is reversed
  Count repeats = 0;   ///< of the step that runs most often
  std::vector<AdjointTier> tiers;
};

/// A run of `steps` steps whose states take `bytes` each, and as long as `keeping` steps to be
/// kept, with tiers of so many bytes, the quickest first. Errors of next_action(); Errc::einval for
/// numbers below 1, and more than a million steps.
AdjointForecast forecast_adjoint(Count steps, Count bytes, const std::vector<Count>& tiers,
                                 double keeping = 0);

}  // namespace forebay::simulation
