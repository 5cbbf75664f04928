#include "checkpoints/plan/checkpoint_course.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "checkpoints/plan/checkpoint_steps.h"

namespace forebay {

namespace {

constexpr double rounding = 1e-6;
constexpr double most_ahead = 8;      ///< extrapolated sizes: at most 8 times, at least 1/8 of the
                                      ///< last
constexpr double most_states = 1000;  ///< for which the costs of an interval are computed
constexpr float unreachable = std::numeric_limits<float>::max();

/// The stored states that a plan may drop, and the one before them.
std::span<const StoredState> planned(const AdjointState& state) {
  const std::span<const StoredState> all = state.stored;
  return all.last(std::min(all.size(), CheckpointRoom::most_planned));
}

struct Point {
  double step, size;
};

double on_line_of_logarithms(const Point& a, const Point& b, double at) {
  return a.size * std::pow(b.size / a.size, (at - a.step) / (b.step - a.step));
}

/// Extrapolates with the trend of the second half: between a line and a constant factor.
double ahead(const std::vector<Point>& points, double at) {
  const Point& last = points.back();
  if (points.size() == 1) return last.size;
  auto half = std::find_if(points.begin(), points.end(),
                           [&](const Point& p) { return p.step >= last.step / 2; });
  if (half + 1 == points.end()) --half;
  const auto bounded = [&](double size) {
    return std::clamp(size, last.size / most_ahead, last.size * most_ahead);
  };
  const double slope = (last.size - half->size) / (last.step - half->step);
  return std::sqrt(bounded(last.size + slope * (at - last.step)) *
                   bounded(on_line_of_logarithms(*half, last, at)));
}

/// A plan spends most of its time here. Compilers vectorise blocks of this length.
void take_less(float* __restrict least, const float* __restrict behind,
               const float* __restrict before, float steps, float part, std::size_t count) {
  constexpr std::size_t block = 8;
  const auto one = [&](std::size_t i) {
    const float all = steps + (1 - part) * behind[i + 1] + part * behind[i] + before[i];
    least[i] = all < least[i] ? all : least[i];
  };
  std::size_t i = 0;
  for (; i + block <= count; i += block)
    for (std::size_t k = 0; k < block; ++k) one(i + k);
  for (; i < count; ++i) one(i);
}

}  // namespace

std::vector<Count> plan_places(const AdjointState& state) {
  const auto stored = planned(state);
  const Count end = *state.adjoint, newest = stored.back().step;
  std::vector<Count> places{state.model, end};
  for (const StoredState& s : stored) places.push_back(s.step);
  const auto add = [&](Count from, Count parts) {
    const Count steps = end - from;
    for (Count i = 1; i < parts; ++i)
      places.push_back(from + steps / parts * i + steps % parts * i / parts);
  };
  add(stored.front().step, 8);
  add(newest, 8);
  add(state.model, 4);
  for (const Count part : {16, 32, 64}) places.push_back(state.model + (end - state.model) / part);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

std::vector<double> sizes_at(const std::vector<Count>& places, std::vector<StoredState> known,
                             double unit) {
  std::stable_sort(known.begin(), known.end(),
                   [](const StoredState& a, const StoredState& b) { return a.step < b.step; });
  std::vector<Point> points;
  for (const StoredState& s : known) {
    const auto step = static_cast<double>(s.step);
    if (points.empty() || points.back().step < step)
      points.push_back({step, static_cast<double>(std::max<Count>(s.bytes, 1)) / unit});
  }
  std::vector<double> sizes;
  for (const Count place : places) {
    const auto at = static_cast<double>(place);
    const auto next =
        std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.step >= at; });
    if (points.empty())
      sizes.push_back(1);
    else if (next == points.end())
      sizes.push_back(ahead(points, at));
    else if (next == points.begin() || next->step == at)
      sizes.push_back(next->size);
    else
      sizes.push_back(on_line_of_logarithms(*(next - 1), *next, at));
  }
  return sizes;
}

CheckpointPlan::CheckpointPlan(const AdjointState& state, const std::vector<double>& sizes,
                               double free)
    : places_(plan_places(state)), sizes_(sizes), model_(state.model) {
  double room = free;
  for (const StoredState& s : planned(state)) {
    if (!stored_.empty()) room += sizes_[index_of(s.step)];
    stored_.push_back(s.step);
  }
  const double level = std::max(room, rounding) / static_cast<double>(levels);
  for (double& size : sizes_) size /= level;
  free_ = free / level;
  least_.resize(places_.size() * places_.size() * (levels + 1));
  for (std::size_t length = 1; length <= end(); ++length)
    for (std::size_t from = 0; from + length <= end(); ++from) fill(from, from + length);
}

std::size_t CheckpointPlan::index_of(Count step) const {
  return static_cast<std::size_t>(std::lower_bound(places_.begin(), places_.end(), step) -
                                  places_.begin());
}

void CheckpointPlan::fill(std::size_t from, std::size_t to) {
  float* least = row(from, to);
  const auto inner = sizes_.begin() + static_cast<std::ptrdiff_t>(from);
  const double largest =
      to == from + 1 ? (*inner + *(inner + 1)) / 2
                     : *std::max_element(inner + 1, inner + static_cast<std::ptrdiff_t>(to - from));
  const auto by_states = least_steps_by_states(
      places_[to] - places_[from],
      static_cast<Count>(std::min(2 + static_cast<double>(levels) / largest, most_states)));
  for (std::size_t level = 0; level <= levels; ++level) {
    const double states = static_cast<double>(level) / largest + rounding;  // besides the first
    const auto whole =
        static_cast<std::size_t>(std::min(states, static_cast<double>(by_states.size() - 1)));
    const float few = by_states[whole], more = by_states[std::min(whole + 1, by_states.size() - 1)];
    least[level] = few + (more - few) * static_cast<float>(states - std::floor(states));
  }
  for (std::size_t m = from + 1; m < to; ++m) {
    // A size is a fraction of levels, so the cost after it is interpolated between two.
    if (sizes_[m] > levels) continue;
    const auto whole = static_cast<std::size_t>(sizes_[m]);
    const auto part = static_cast<float>(sizes_[m] - static_cast<double>(whole));
    const float *behind = row(m, to), *before = row(from, m);
    const auto steps = static_cast<float>(places_[m] - places_[from]);
    if (part < 0.3F) least[whole] = std::min(least[whole], steps + behind[0] + before[whole]);
    take_less(least + whole + 1, behind, before + whole + 1, steps, part, levels - whole);
  }
}

/// Steps of the interval that ends with the last step, which is reversed first.
double CheckpointPlan::to_last_step(std::size_t from, std::size_t level) const {
  const std::size_t before = end() - 1;
  const double part = static_cast<double>(places_[end()] - 1 - places_[before]) /
                      static_cast<double>(places_[end()] - places_[before]);
  const double without = before > from ? row(from, before)[level] : 0;
  return (1 - part) * without + part * row(from, end())[level];
}

CheckpointPlan::Way CheckpointPlan::go_on(std::size_t base, std::size_t level) const {
  const Count last = places_[end()] - 1;
  Way way{static_cast<double>(last - model_) + to_last_step(base, level), last, {}};
  for (std::size_t m = index_of(model_) + 1; m < end() && places_[m] < last; ++m) {
    if (std::ceil(sizes_[m] - 0.3) > static_cast<double>(level)) continue;
    const auto whole = std::min(level, static_cast<std::size_t>(sizes_[m]));
    const double part = level > whole ? std::max(sizes_[m] - static_cast<double>(whole), 0.0) : 0.0;
    const float* behind = row(m, end());
    const double both =
        (1 - part) * behind[level - whole] + (part > 0 ? part * behind[level - whole - 1] : 0);
    const double steps = static_cast<double>(places_[m] - model_) + both + row(base, m)[level];
    if (steps < way.steps - 1e-4) way = {steps, places_[m], {}};
  }
  return way;
}

CheckpointPlan::Way CheckpointPlan::best(bool keeps_model) const {
  std::vector<Count> steps = stored_;
  // Rounds sizes to levels so that their sums are right.
  std::vector<std::size_t> sizes, places;
  double taken = 0;
  std::size_t before = 0;
  for (const Count step : stored_) {
    places.push_back(index_of(step));
    if (places.size() > 1) taken += sizes_[places.back()];
    const auto now = std::min(static_cast<std::size_t>(std::llround(taken)), levels);
    sizes.push_back(now - before);
    before = now;
  }
  if (keeps_model && steps.back() != model_) {
    steps.push_back(model_);
    places.push_back(index_of(model_));
    const std::size_t free = levels - before;
    const auto size = static_cast<std::size_t>(
        std::min(std::ceil(sizes_[places.back()] - 0.3), static_cast<double>(levels + 1)));
    sizes.push_back(sizes_[places.back()] > free_ + rounding ? std::max(size, free + 1)
                                                             : std::min(size, free));
  }
  // The best continuation, by the last kept state and the levels of space after it.
  struct Choice {
    float steps = unreachable;
    std::size_t kept = 0;  ///< 0: no stored state
  };
  std::vector<Choice> choices(steps.size() * (levels + 1));
  const auto choice = [&](std::size_t i, std::size_t level) -> Choice& {
    return choices[i * (levels + 1) + level];
  };
  for (std::size_t i = steps.size(); i-- > 0;) {
    for (std::size_t level = 0; level <= levels; ++level) {
      Choice& found = choice(i, level);
      if (!keeps_model || i + 1 == steps.size())
        found.steps = static_cast<float>(go_on(places[i], level).steps);
      for (std::size_t k = i + 1; k < steps.size(); ++k) {
        if (sizes[k] > level) continue;
        const float kept = choice(k, level - sizes[k]).steps + row(places[i], places[k])[level];
        if (kept < found.steps - 1e-4F) found = {kept, k};
      }
    }
  }
  Way way;
  std::size_t at = 0, level = levels;
  while (const std::size_t next = choice(at, level).kept) {
    way.kept.push_back(steps[next]);
    level -= sizes[next];
    at = next;
  }
  way.steps = choice(0, levels).steps;
  way.next = go_on(places[at], level).next;
  return way;
}

Count CheckpointPlan::apart() const {
  constexpr double looked_at = 16, for_each = 2;  // of the remaining way; of the states that fit
  const Count first = places_.front(), end_of_run = places_.back();
  const double states =
      (static_cast<double>(levels) + sizes_.front()) / std::max(sizes_[index_of(model_)], rounding);
  const double apart =
      std::min(static_cast<double>(end_of_run - stored_.back()) / looked_at,
               static_cast<double>(end_of_run - first) / std::max(for_each * states, 1.0));
  return std::max<Count>(1, static_cast<Count>(apart));
}

}  // namespace forebay
