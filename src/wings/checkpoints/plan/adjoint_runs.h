// How often a model runs, and how often each tier is written and read, if
// checkpoints/plan/checkpoint_schedule.h decides which states of an adjoint computation are kept.
#pragma once

#include <vector>

#include "base/types.h"

namespace forebay::simulation {

struct AdjointTier {
  Count states = 0;  ///< at a time, at most
  Count writes = 0, reads = 0;
};

struct AdjointForecast {
  Count advances = 0;  ///< steps that run, without the run before each reversal
  Count repeats = 0;   ///< of the step that runs most often
  std::vector<AdjointTier> tiers;
};

/// Simulates a run of `steps` steps. Each state takes `bytes` bytes, and storing it takes as long
/// as `keeping` steps. `tiers` has the bytes of each tier, the fastest first. Errors as for
/// next_action(); Errc::einval for numbers below 1, and for more than a million steps.
AdjointForecast forecast_adjoint(Count steps, Count bytes, const std::vector<Count>& tiers,
                                 double keeping = 0);

}  // namespace forebay::simulation
