#include "checkpoints/plan/adjoint_runs.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "checkpoints/plan/checkpoint_schedule.h"

namespace forebay::simulation {

AdjointForecast forecast_adjoint(Count steps, Count bytes, const std::vector<Count>& tiers,
                                 double keeping) {
  constexpr Count most_steps = 1'000'000;
  if (steps < 1 || steps > most_steps || bytes < 1)
    throw Error(Errc::einval, "a run has from 1 to a million steps, and states at least one byte");
  AdjointForecast forecast;
  forecast.tiers.resize(tiers.size());
  // How much more often each step runs than the one before. A table, since there may be steps²
  // advances.
  std::vector<Count> more(static_cast<std::size_t>(steps) + 1);
  std::vector<Count> held(tiers.size());
  std::vector<int> places;  // the tier of each stored state
  AdjointState state;
  state.adjoint = steps;
  state.free = tiers;
  state.here = bytes;
  state.keeping = keeping;
  for (;;) {
    const AdjointAction next = next_action(state);
    const auto newest = places.empty() ? 0 : static_cast<std::size_t>(places.back());
    switch (next.kind) {
      case AdjointAction::Kind::advance:
        forecast.advances += next.to - next.from;
        ++more[static_cast<std::size_t>(next.from)];
        --more[static_cast<std::size_t>(next.to)];
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
        std::partial_sum(more.begin(), more.end(), more.begin());
        forecast.repeats = *std::max_element(more.begin(), more.end());
        return forecast;
    }
  }
}

}  // namespace forebay::simulation
