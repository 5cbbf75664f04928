#include "plan/checkpoint_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.h"

namespace forebay {

namespace {

using Kind = AdjointAction::Kind;
constexpr Count most = std::numeric_limits<Count>::max();
constexpr std::size_t looked_at = 8;  ///< states whose sizes tell what the next ones take

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

/// What sizes of states that were kept last tell of the next ones.
struct Sizes {
  Count usual = 1;    ///< where they differ at random less than the mean: of several the small stay
  double spread = 0;  ///< the part of it by which a state may be smaller

  explicit Sizes(const AdjointState& state) {
    const auto& stored = state.stored;
    const std::size_t n = std::min(looked_at, stored.size());
    if (n == 0) {
      usual = std::max<Count>(state.here.value_or(1), 1);
      return;
    }
    const std::span last = std::span(stored).last(n);
    const auto less = [](const StoredState& a, const StoredState& b) { return a.bytes < b.bytes; };
    const auto [smallest, largest] = std::minmax_element(last.begin(), last.end(), less);
    if (n > 2 && std::adjacent_find(last.begin(), last.end(), std::not_fn(less)) == last.end()) {
      usual = std::max<Count>(largest->bytes, 1);  // they drift
      return;
    }
    double sum = 0;
    for (const StoredState& s : last) sum += static_cast<double>(s.bytes);
    const auto least = static_cast<double>(smallest->bytes);
    const double between = (sum / static_cast<double>(n) + least) / 2;
    usual = smallest == largest ? smallest->bytes : static_cast<Count>(std::ceil(between));
    usual = std::max<Count>(usual, 1);
    spread = std::min(1.0, 0.6 * static_cast<double>(largest->bytes - smallest->bytes) /
                               static_cast<double>(usual));
  }

  double relative(Count bytes) const {
    return static_cast<double>(bytes) / static_cast<double>(usual);
  }
  /// States that there is room for. Where sizes differ, one that is a little too large counts in
  /// part: among many some will fit.
  double in(Count free) const {
    const double exact = relative(free), whole = std::floor(exact);
    if (spread == 0) return whole;
    const double width = std::min(1.0, spread * std::sqrt(whole + 1));
    return whole + std::max(0.0, 1 - (whole + 1 - exact) / width);
  }
};

/// Where the model's state goes if `needed` more are to be kept, this one among them.
std::optional<int> tier_for(const AdjointState& state, double needed) {
  const Sizes sizes(state);
  const auto tiers = static_cast<int>(state.free.size());
  const auto room_of = [&](int tier) { return state.free[static_cast<std::size_t>(tier)]; };
  const auto fits = [&](int tier) {
    if (state.here) return *state.here <= room_of(tier);
    return sizes.relative(room_of(tier)) >= 1 - sizes.spread;
  };
  int wanted = 0;
  for (double n = 0; wanted < tiers - 1; ++wanted) {
    n += std::floor(sizes.relative(room_of(wanted)));
    if (n >= needed) break;
  }
  for (int t = wanted; t < tiers; ++t)
    if (fits(t)) return t;
  for (int t = wanted; t-- > 0;)
    if (fits(t)) return t;
  return std::nullopt;
}

/// steps_within for any number of states from 0 on: C(states + repeats, repeats) by Γ.
double within(double states, Count repeats) {
  if (repeats < 0) return 0;
  constexpr double large = 1e6;
  if (states < large && states == std::floor(states))
    return static_cast<double>(steps_within(static_cast<Count>(states), repeats));
  const auto r = static_cast<double>(repeats);
  if (states < large && repeats > 64)
    return std::exp(std::lgamma(states + r + 1) - std::lgamma(states + 1) - std::lgamma(r + 1));
  double product = 1;
  for (Count i = 1; i <= repeats && product < static_cast<double>(most); ++i)
    product *= (states + static_cast<double>(i)) / static_cast<double>(i);
  return product;
}

/// How often the last of so many steps runs before it is reversed.
Count repeats_of(Count steps, double states) {
  if (steps <= 1) return 0;
  if (states == 1) return steps - 1;
  const auto n = static_cast<double>(steps);
  Count enough = 1;
  while (enough < most / 2 && within(states, enough) < n) enough *= 2;
  Count few = enough / 2;
  while (enough - few > 1) {
    const Count middle = few + (enough - few) / 2;
    (within(states, middle) < n ? few : enough) = middle;
  }
  return enough;
}

/// The least number of steps that run besides those that are reversed, of so many from a state that
/// is kept, the first of `states`. With each step more it grows by its repeats.
double least_steps(Count steps, double states) {
  const Count repeats = repeats_of(steps, states);
  if (repeats == 0) return 0;
  return static_cast<double>(repeats) * static_cast<double>(steps) -
         within(states + 1, repeats - 1);
}

/// Where the next state is best kept on the way through `steps` of them, from one that is kept,
/// with `states` in all: where y + least_steps(steps - y, states - 1) + least_steps(y, states) is
/// least. All y from the first to the last are as good; one to take is three quarters of the way.
struct Split {
  Count first, last, taken;

  Split(Count steps, double states) {
    const double behind = std::max(1.0, states - 1);
    const auto least_that_grows_by = [&](Count wanted) {
      Count low = 1, high = std::max<Count>(steps - 1, 1);
      while (low < high) {
        const Count y = low + (high - low) / 2;
        const Count growth = 1 - repeats_of(steps - y, behind) + repeats_of(y + 1, states);
        if (growth >= wanted)
          high = y;
        else
          low = y + 1;
      }
      return low;
    };
    first = least_that_grows_by(0);
    last = least_that_grows_by(1);
    taken = last - (last - first) / 4;
  }
};

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

/// Steps that run, from the model's state on, until all behind `base` are reversed, if the next
/// state, of so many usual ones, is kept behind `from`, and `room` is what there is room for.
double steps_from(const AdjointState& state, Count base, Count from, double room, double size) {
  const Count steps = *state.adjoint - base, at = state.model - base;
  if (room == 0) return static_cast<double>(steps - 1 - at) + least_steps(steps - 1, 1);
  const Count to = std::max(from - base, Split(steps, room + 1).taken);
  return static_cast<double>(to - at) + least_steps(steps - to, std::max(1.0, 1 + room - size)) +
         least_steps(to, room + 1);
}

/// Where there is no room any more: a stored state whose room serves better elsewhere. So it is
/// where room has become less than it was, or sizes have turned out larger.
std::optional<Count> misplaced(const AdjointState& state) {
  const auto& stored = state.stored;
  const auto between = [&](std::size_t i, std::size_t k) {
    return stored[k].step - stored[i].step;
  };
  std::optional<Count> found;
  // Steps behind state i, with room for one more and without it: no others change if i goes.
  double with = 0, without = 0, best = 0;
  for (std::size_t i = stored.size(); i-- > 1;) {
    const Count step = stored[i].step;
    const auto states = static_cast<double>(stored.size() - i);
    double gone = 0;
    if (i + 1 == stored.size()) {
      without = steps_from(state, step, state.model, 0, 1);
      with = steps_from(state, step, state.model, 1, 1);
      gone = steps_from(state, stored[i - 1].step, state.model, 1, 1);
    } else {
      gone = with + least_steps(between(i - 1, i + 1), states + 1);
      without += least_steps(between(i, i + 1), states);
      with += least_steps(between(i, i + 1), states + 1);
    }
    const double saved = without + least_steps(between(i - 1, i), states + 1) - gone;
    if (saved <= best || step == state.model) continue;
    best = saved;
    found = step;
  }
  return found;
}

/// Whether the state that the model has just kept is so large that one of the next ones does
/// better.
bool too_large(const AdjointState& state, const CheckpointRoom& room) {
  constexpr double vain = 1;  // steps that a state kept in vain may cost
  const std::size_t n = state.stored.size();
  if (n < 2 || room.newest <= 1) return false;
  const Count base = state.stored[n - 2].step;
  const Count at = state.model - base, steps = *state.adjoint - base;
  const double all = room.states + room.newest;
  if (std::max(at + 1, Split(steps, 1 + all).taken) >= steps - 1) return false;
  const double keeps = least_steps(steps - at, 1 + room.states) + least_steps(at, 1 + all);
  return steps_from(state, base, state.model + 1, all, 1) + vain < keeps;
}

AdjointAction next_of_known(const AdjointState& state, const CheckpointRoom& room) {
  const Count steps = *state.adjoint;
  const bool any = !state.stored.empty();
  const Count newest = any ? state.stored.back().step : AdjointState::nowhere;
  if (newest >= steps) return {Kind::drop, newest, newest, 0};
  if (steps == 0) return {Kind::done, 0, 0, 0};
  if (state.model >= steps || state.model < std::max<Count>(newest, 0)) return restore(state);
  const Count left = steps - state.model;
  if (left == 1) return {Kind::turn, state.model, steps, 0};

  const auto split_of = [&](Count n) {
    return Split(n, std::min(room.states, static_cast<double>(n - 1)) + 1);
  };
  if (!any || (state.model != newest && room.states > 0)) {
    if (any) {
      const Split split = split_of(steps - newest);
      if (state.model - newest < split.first) return advance(state, newest + split.taken);
    }
    const auto tier = tier_for(state, std::min(room.states, static_cast<double>(left - 1)));
    if (tier) return {Kind::store, state.model, state.model, *tier};
    if (!any) throw_no_room(state);
    return advance(state, state.model + 1);  // the next one may be smaller than this one is
  }
  if (state.model == newest && too_large(state, room)) return {Kind::drop, newest, newest, 0};
  if (room.states > 0) return advance(state, state.model + split_of(left).taken);
  if (const auto step = misplaced(state)) return {Kind::drop, *step, *step, 0};
  return advance(state, steps - 1);
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

AdjointAction next_of_unknown(const AdjointState& state, const CheckpointRoom& room) {
  const bool any = !state.stored.empty();
  const Count newest = any ? state.stored.back().step : AdjointState::nowhere;
  if (state.model < std::max<Count>(newest, 0)) return restore(state);
  const auto stored = static_cast<Count>(state.stored.size());
  // More slots than steps so far keep every state.
  const auto more = static_cast<Count>(std::min(room.states, static_cast<double>(state.model)));
  const Count states = more + stored + (any ? 0 : 1);
  const Kept kept(any ? state.stored.front().step : state.model, state.model, states);
  if (state.model != newest && kept.has(state.model)) {
    if (const auto tier = tier_for(state, room.states))
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

CheckpointRoom room_of(const AdjointState& state) {
  check(state);
  const Sizes sizes(state);
  CheckpointRoom room;
  for (const Count free : state.free) room.states += sizes.in(free);
  if (!state.stored.empty()) room.newest = sizes.relative(state.stored.back().bytes);
  return room;
}

AdjointAction next_action(const AdjointState& state, const CheckpointRoom& room) {
  check(state);
  return state.adjoint ? next_of_known(state, room) : next_of_unknown(state, room);
}

AdjointAction next_action(const AdjointState& state) { return next_action(state, room_of(state)); }

}  // namespace forebay
