#include "simulation/adjoint_runs.h"

#include <algorithm>

#include "base/error.h"
#include "plan/checkpoint_schedule.h"

namespace forebay::simulation {

AdjointForecast forecast_adjoint(Count steps, Count bytes, const std::vector<Count>& tiers) {
  constexpr Count most_steps = 1'000'000;
  if (steps < 1 || steps > most_steps || bytes < 1)
    throw Error(Errc::einval, "a run has from 1 to a million steps, and states at least one byte");
  AdjointForecast forecast;
  forecast.tiers.resize(tiers.size());
  std::vector<Count> runs(static_cast<std::size_t>(steps)), held(tiers.size());
  std::vector<int> places;  // the tier of each stored state
  AdjointState state;
  state.adjoint = steps;
  state.free = tiers;
  state.here = bytes;
  for (;;) {
    const AdjointAction next = next_action(state);
    const auto newest = places.empty() ? 0 : static_cast<std::size_t>(places.back());
    switch (next.kind) {
      case AdjointAction::Kind::advance:
        forecast.advances += next.to - next.from;
        for (Count step = next.from; step < next.to; ++step) ++runs[static_cast<std::size_t>(step)];
        state.model = next.to;
        break;
      case AdjointAction::Kind::store: {
        const auto tier = static_cast<std::size_t>(next.tier);
        state.stored.push_back({next.from, bytes});
        state.free[tier] -= bytes;
        places.push_back(next.tier);
        ++forecast.tiers[tier].writes;
        forecast.tiers[tier].states = std::max(forecast.tiers[tier].states, ++held[tier]);
        break;
      }
      case AdjointAction::Kind::restore:
        ++forecast.tiers[newest].reads;
        state.model = next.from;
        break;
      case AdjointAction::Kind::drop:
        state.stored.pop_back();
        places.pop_back();
        state.free[newest] += bytes;
        --held[newest];
        break;
      case AdjointAction::Kind::turn:
        state.adjoint = next.from;
        state.model = AdjointState::nowhere;
        break;
      case AdjointAction::Kind::done:
        forecast.repeats = *std::max_element(runs.begin(), runs.end());
        return forecast;
    }
  }
}

}  // namespace forebay::simulation
