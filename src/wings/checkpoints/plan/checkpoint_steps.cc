#include "checkpoints/plan/checkpoint_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace forebay {

namespace {

constexpr Count most_steps = std::numeric_limits<Count>::max();

/// steps_within for a fractional number of states: C(states + repeats, repeats) by Γ.
double within(double states, Count repeats) {
  if (repeats < 0) return 0;
  constexpr double large = 1e6;
  if (states < large && states == std::floor(states))
    return static_cast<double>(steps_within(static_cast<Count>(states), repeats));
  const auto r = static_cast<double>(repeats);
  if (states < large && repeats > 64)
    return std::exp(std::lgamma(states + r + 1) - std::lgamma(states + 1) - std::lgamma(r + 1));
  double product = 1;
  for (Count i = 1; i <= repeats && product < static_cast<double>(most_steps); ++i)
    product *= (states + static_cast<double>(i)) / static_cast<double>(i);
  return product;
}

}  // namespace

Count steps_within(Count states, Count repeats) {
  if (states < 0 || repeats < 0) return 0;
  Count product = 1;  // C(a + b, b), factor by factor; each product is a whole number
  const Count few = std::min(states, repeats), many = std::max(states, repeats);
  for (Count i = 1; i <= few; ++i) {
    const Count shared = std::gcd(product, i);
    Count next = 0;
    if (!add_fits(many, i, next) || !multiply_fits(product / shared, next / (i / shared), product))
      return most_steps;
  }
  return product;
}

Count repeats_of(Count steps, double states) {
  if (steps <= 1) return 0;
  if (states == 1) return steps - 1;
  const auto n = static_cast<double>(steps);
  Count enough = 1;
  while (enough < most_steps / 2 && within(states, enough) < n) enough *= 2;
  Count few = enough / 2;
  while (enough - few > 1) {
    const Count middle = few + (enough - few) / 2;
    (within(states, middle) < n ? few : enough) = middle;
  }
  return enough;
}

double least_steps(Count steps, double states) {
  const Count repeats = repeats_of(steps, states);
  if (repeats == 0) return 0;
  return static_cast<double>(repeats) * static_cast<double>(steps) -
         within(states + 1, repeats - 1);
}

std::vector<float> least_steps_by_states(Count steps, Count most_states) {
  const Count most_that_serve = std::max<Count>(std::min(most_states, steps), 1);
  // With few states there may be too many repeats for the loop below.
  constexpr Count few = 3;
  std::vector<float> least;
  for (Count states = 1; states <= std::min(few, most_that_serve); ++states)
    least.push_back(static_cast<float>(least_steps(steps, static_cast<double>(states))));
  if (most_that_serve <= few) return least;
  const auto n = static_cast<double>(steps);
  auto repeats = static_cast<double>(repeats_of(steps, few + 1));
  double steps_within_them = (repeats + 1) * (repeats + 2) * (repeats + 3) * (repeats + 4) / 24;
  for (double states = few + 1;; ++states) {
    // One repeat less suffices if C(states + repeats - 1, states) does.
    const auto with_less = [&] { return steps_within_them * repeats / (states + repeats); };
    for (; repeats > 0 && with_less() >= n - 0.5; --repeats) steps_within_them = with_less();
    least.push_back(static_cast<float>(repeats * (n - steps_within_them / (states + 1))));
    if (static_cast<Count>(states) == most_that_serve) return least;
    steps_within_them *= (states + 1 + repeats) / (states + 1);
  }
}

}  // namespace forebay
