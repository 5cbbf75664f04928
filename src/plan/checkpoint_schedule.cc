#include "plan/checkpoint_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.h"

namespace forebay {

namespace {

using Kind = AdjointAction::Kind;
constexpr Count most = std::numeric_limits<Count>::max();
constexpr std::size_t looked_at = 3;  ///< states whose sizes tell what the next ones take

void check(const AdjointState& state) {
  const auto bad = [](const std::string& what) {
    return Error(Errc::einval, "a schedule of checkpoints: " + what);
  };
  if (state.model < AdjointState::nowhere) throw bad("the model has a negative state");
  if (state.adjoint && *state.adjoint < 0) throw bad("a negative number of steps");
  Count before = -1;
  for (const StoredState& s : state.stored) {
    if (s.step <= before) throw bad("stored states are not in order");
    if (s.bytes < 0) throw bad("a state of a negative size");
    before = s.step;
  }
  if (std::any_of(state.free.begin(), state.free.end(), [](Count f) { return f < 0; }))
    throw bad("a tier with less than no room");
}

/// The room that is left, as the number of states that fit.
class Slots {
 public:
  explicit Slots(const AdjointState& state) : state_(state) {
    for (std::size_t i = 0; i < std::min(looked_at, state.stored.size()); ++i)
      predicted_ = std::max(predicted_, state.stored[state.stored.size() - 1 - i].bytes);
    if (state.stored.empty() && state.here) predicted_ = std::max(predicted_, *state.here);
  }

  Count all() const {
    Count n = 0;
    for (const Count free : state_.free)
      if (!add_fits(n, free / predicted_, n)) n = most;
    return n;
  }

  /// Where the model's state goes if `needed` more are to be kept, this one among them.
  std::optional<int> tier_for(Count needed) const {
    const auto tiers = static_cast<int>(state_.free.size());
    int wanted = 0;
    for (Count n = 0; wanted < tiers - 1; ++wanted)
      if (!add_fits(n, slots_of(wanted), n) || n >= needed) break;
    for (int t = wanted; t < tiers; ++t)
      if (fits(t)) return t;
    for (int t = wanted; t-- > 0;)
      if (fits(t)) return t;
    return std::nullopt;
  }

 private:
  Count room_of(int tier) const { return state_.free[static_cast<std::size_t>(tier)]; }
  Count slots_of(int tier) const { return room_of(tier) / predicted_; }
  bool fits(int tier) const { return state_.here.value_or(predicted_) <= room_of(tier); }

  const AdjointState& state_;
  Count predicted_ = 1;
};

/// Where the next state is kept on the way through `steps` of them, from one that is kept, with
/// `states` in all: among the best splits the one three quarters of the way to the last.
Count split(Count steps, Count states) {
  Count repeats = 1;
  while (steps_within(states, repeats) < steps) ++repeats;
  const Count first = std::max({steps - std::min(steps, steps_within(states - 1, repeats)),
                                steps_within(states, repeats - 2), Count{1}});
  const Count last = std::min({steps_within(states, repeats - 1),
                               steps - steps_within(states - 1, repeats - 1), steps - 1});
  return last - (last - first) / 4;
}

AdjointAction advance(const AdjointState& state, Count to) {
  return {Kind::advance, state.model, to, 0};
}

AdjointAction restore(const AdjointState& state) {
  if (state.stored.empty())
    throw Error(Errc::einval, "a schedule of checkpoints: no state is stored to begin from",
                "give the model's state as the first one, and keep it");
  return {Kind::restore, state.stored.back().step, state.stored.back().step, 0};
}

[[noreturn]] void throw_no_room(const AdjointState& state) {
  Count room = 0;
  for (const Count free : state.free) room = std::max(room, free);
  throw Error(Errc::eno_space,
              "state " + std::to_string(state.model) + ", from which all others are computed, " +
                  "does not fit: the largest tier has " + std::to_string(room) + " bytes",
              "give checkpoints more room, or a codec");
}

AdjointAction next_of_known(const AdjointState& state) {
  const Count steps = *state.adjoint;
  const bool any = !state.stored.empty();
  const Count newest = any ? state.stored.back().step : AdjointState::nowhere;
  if (newest >= steps) return {Kind::drop, newest, newest, 0};
  if (steps == 0) return {Kind::done, 0, 0, 0};
  if (state.model >= steps || state.model < std::max<Count>(newest, 0)) return restore(state);
  const Count left = steps - state.model;
  if (left == 1) return {Kind::turn, state.model, steps, 0};

  const Slots slots(state);
  const Count room = slots.all();
  if (state.model != newest) {
    const auto tier = slots.tier_for(std::min(room, left - 1));
    if (tier) return {Kind::store, state.model, state.model, *tier};
    if (!any) throw_no_room(state);
    // The next one may be smaller than this one is.
    if (room > 0) return advance(state, state.model + 1);
  }
  if (room == 0) return advance(state, steps - 1);
  return advance(state, state.model + split(left, std::min(room, left - 1) + 1));
}

/// Where states are kept, from `first` on, while a run of unknown length is at state `at`: for each
/// one the place where the run would be split if it went on for as long as it can without one more
/// repetition.
struct Kept {
  std::vector<Count> steps;  ///< in order
  Count next = most;         ///< the first state behind `at` that would be kept

  Kept(Count first, Count at, Count states) {
    steps.push_back(first);
    for (; states > 1; --states) {
      const Count done = at - steps.back();
      Count repeats = 0;
      while (steps_within(states, repeats) <= done) ++repeats;
      // With each repetition more the split moves on.
      next = std::min(next, steps.back() + steps_within(states, repeats));
      if (done == 0) break;
      steps.push_back(steps.back() + steps_within(states, repeats - 1));
    }
  }
  bool has(Count step) const { return std::binary_search(steps.begin(), steps.end(), step); }
};

/// A stored state that is not kept: the one that leaves the smallest hole.
std::optional<Count> dispensable(const AdjointState& state, const Kept& kept) {
  std::optional<Count> found;
  Count hole = most;
  for (std::size_t i = 1; i < state.stored.size(); ++i) {
    if (kept.has(state.stored[i].step)) continue;
    const bool last = i + 1 == state.stored.size();
    const Count width = (last ? state.model : state.stored[i + 1].step) - state.stored[i - 1].step;
    if (width >= hole) continue;
    hole = width;
    found = state.stored[i].step;
  }
  return found;
}

AdjointAction next_of_unknown(const AdjointState& state) {
  const bool any = !state.stored.empty();
  const Count newest = any ? state.stored.back().step : AdjointState::nowhere;
  if (state.model < std::max<Count>(newest, 0)) return restore(state);
  const Slots slots(state);
  const auto stored = static_cast<Count>(state.stored.size());
  // More slots than steps so far keep every state.
  const Count states = std::min(slots.all(), state.model) + stored + (any ? 0 : 1);
  const Kept kept(any ? state.stored.front().step : state.model, state.model, states);
  if (state.model != newest && kept.has(state.model)) {
    if (const auto tier = slots.tier_for(slots.all()))
      return {Kind::store, state.model, state.model, *tier};
    if (!any) throw_no_room(state);
    if (const auto step = dispensable(state, kept)) return {Kind::drop, *step, *step, 0};
  }
  return advance(state, kept.next == most ? state.model + 1 : kept.next);
}

}  // namespace

Count steps_within(Count states, Count repeats) {
  if (states < 0 || repeats < 0) return 0;
  Count product = 1;  // C(a + b, b), one factor after another, each product a whole number
  const Count few = std::min(states, repeats), many = std::max(states, repeats);
  for (Count i = 1; i <= few; ++i) {
    const Count shared = std::gcd(product, i);
    Count next = 0;
    if (!add_fits(many, i, next) || !multiply_fits(product / shared, next / (i / shared), product))
      return most;
  }
  return product;
}

Count slots_left(const AdjointState& state) {
  check(state);
  return Slots(state).all();
}

AdjointAction next_action(const AdjointState& state) {
  check(state);
  return state.adjoint ? next_of_known(state) : next_of_unknown(state);
}

}  // namespace forebay
