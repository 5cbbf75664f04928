#include "plan/checkpoint_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.h"

namespace forebay {

namespace {

using Kind = AdjointAction::Kind;
constexpr Count most = std::numeric_limits<Count>::max();

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
  if (!(state.keeping >= 0 && state.keeping < 1e15)) throw bad("keeping that takes no such time");
}

/// What sizes that were seen lately tell of the next ones.
struct Sizes {
  std::vector<Count> seen;  ///< the latest ones, in order
  double mean = 1;

  explicit Sizes(const AdjointState& state) : seen(state.seen) {
    if (seen.size() < state.stored.size()) {
      seen.clear();
      for (const StoredState& s : state.stored) seen.push_back(s.bytes);
    }
    if (seen.empty()) seen.push_back(state.here.value_or(1));
    if (seen.size() > CheckpointRoom::likely)
      seen.erase(seen.begin(), seen.end() - std::ptrdiff_t{CheckpointRoom::likely});
    std::sort(seen.begin(), seen.end());
    double sum = 0;
    for (const Count bytes : seen) sum += static_cast<double>(bytes);
    mean = std::max(sum / static_cast<double>(seen.size()), 1.0);
  }

  double relative(Count bytes) const { return static_cast<double>(bytes) / mean; }
  /// The same number of each, as nearly as may be.
  std::array<double, CheckpointRoom::likely> likely() const {
    std::array<double, CheckpointRoom::likely> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = std::max(relative(seen[i * seen.size() / all.size()]), 1 / mean);
    return all;
  }
};

/// Where the model's state goes if `needed` more are to be kept, this one among them.
std::optional<int> tier_for(const AdjointState& state, double needed) {
  const Sizes sizes(state);
  const auto tiers = static_cast<int>(state.free.size());
  const auto room_of = [&](int tier) { return state.free[static_cast<std::size_t>(tier)]; };
  const auto fits = [&](int tier) {
    if (state.here) return *state.here <= room_of(tier);
    return room_of(tier) >= sizes.seen.front();
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

/// Steps that run, from the model's state on, until all behind `base` are reversed, if there is
/// room for so many more states, none or one.
double steps_from(const AdjointState& state, Count base, double room) {
  const Count steps = *state.adjoint - base, at = state.model - base;
  if (room == 0) return static_cast<double>(steps - 1 - at) + least_steps(steps - 1, 1);
  const Count to = std::max(at, Split(steps, room + 1).taken);
  return static_cast<double>(to - at) + least_steps(steps - to, room) + least_steps(to, room + 1);
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
      without = steps_from(state, step, 0);
      with = steps_from(state, step, 1);
      gone = steps_from(state, stored[i - 1].step, 1);
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

/// Where the next state is kept behind one that is stored, of sizes that differ: each state that
/// the model comes to is kept if that takes fewer steps than to go on and look at the next ones.
class Choice {
 public:
  /// Steps to be reversed behind the stored state; room for further ones, in states.
  Choice(Count steps, double room, const CheckpointRoom& told)
      : steps_(steps), apart_(std::max<Count>(1, steps / most_places)), room_(room) {
    const auto places = static_cast<std::size_t>((steps - 1) / apart_);
    on_.resize(places + 1);
    serves_.resize(places + 1);
    on_[places] = static_cast<double>(steps - 1 - at(places)) + least(steps - 1, room);
    for (std::size_t i = places; i-- > 1;) {
      const double next = static_cast<double>(apart_) + on_[i + 1];
      const double before = least(at(i), room);
      for (const double size : told.sizes) {
        const double kept = size <= room ? least(steps - at(i), room - size) + before : next;
        serves_[i] |= kept < next;
        on_[i] += std::min(kept, next) / static_cast<double>(told.sizes.size());
      }
    }
  }
  /// The first state behind `from` of which some sizes would be kept; the last one if none is.
  Count next(Count from) const {
    for (std::size_t i = place_behind(from); i < serves_.size(); ++i)
      if (serves_[i]) return at(i);
    return steps_ - 1;
  }
  bool looks_at(Count state) const {
    return state % apart_ == 0 && state < steps_ && serves_[place_behind(state) - 1];
  }
  /// Whether one of that size should be kept.
  bool keeps(Count state, double size) const {
    const std::size_t next = place_behind(state);
    if (next >= on_.size()) return true;
    const double kept = least(steps_ - state, room_ - size) + least(state, room_);
    return kept <= static_cast<double>(at(next) - state) + on_[next] + rounding;
  }

 private:
  static constexpr Count most_places = 64;
  static constexpr double rounding = 1e-6;

  Count at(std::size_t place) const { return static_cast<Count>(place) * apart_; }
  std::size_t place_behind(Count state) const {
    return static_cast<std::size_t>(state / apart_ + 1);
  }
  /// least_steps() with room for so many besides the first; of what is no whole number in parts.
  static double least(Count steps, double room) {
    const double whole = std::floor(std::max(room, 0.0) + rounding);
    const double part = std::max(room - whole, 0.0);
    const double few = least_steps(steps, 1 + whole);
    return part < rounding ? few : (1 - part) * few + part * least_steps(steps, 2 + whole);
  }

  Count steps_, apart_;
  double room_;
  std::vector<double> on_;    ///< steps from each place on, before its state's size is known
  std::vector<char> serves_;  ///< whether one of some likely size would be kept
};

/// While few sizes are known: a state on the way to `place`, where the next one may be kept, is
/// stored for its size, and dropped again.
std::optional<AdjointAction> look(const AdjointState& state, const CheckpointRoom& room,
                                  Count place) {
  if (room.sizes_seen >= CheckpointRoom::enough || room.states < 1) return std::nullopt;
  const Count newest = state.stored.back().step;
  const Count apart = (place - newest) / CheckpointRoom::enough;
  const bool known = state.model == newest || state.here;
  const Count at = std::max(newest + apart * room.sizes_seen, state.model + (known ? 1 : 0));
  if (at >= place) return std::nullopt;
  if (at > state.model) return advance(state, at);
  if (const auto tier = tier_for(state, 0))
    return AdjointAction{Kind::store, state.model, state.model, *tier};
  return std::nullopt;
}

/// The same of states of different sizes; some step is left to be run.
AdjointAction next_of_different(const AdjointState& state, const CheckpointRoom& room) {
  const auto& stored = state.stored;
  const Count steps = *state.adjoint, newest = stored.back().step;
  if (state.model == newest && stored.size() > 1) {
    const Count base = stored[stored.size() - 2].step;
    const Choice before(steps - base, room.states + room.newest, room);
    if (!before.keeps(newest - base, room.newest)) return {Kind::drop, newest, newest, 0};
  }
  const Choice choice(steps - newest, room.states, room);
  if (const auto next = look(state, room, newest + choice.next(0))) return *next;
  if (state.model != newest && choice.looks_at(state.model - newest)) {
    const auto left = static_cast<double>(steps - state.model - 1);
    if (const auto tier = tier_for(state, std::min(room.states, left)))
      return {Kind::store, state.model, state.model, *tier};
  }
  const Count to = newest + choice.next(state.model - newest);
  if (to == steps - 1 && room.states < 1)
    if (const auto step = misplaced(state)) return {Kind::drop, *step, *step, 0};
  return advance(state, to);
}

/// Where states are kept that take as long as `keeping` steps: a table of the runs of so many steps
/// and fewer, with room for so many states and fewer, the stored first one among them.
class Priced {
 public:
  static constexpr Count most_states = 128;  // as many as it has a place for
  struct Best {
    double cost = 0;  ///< in steps
    Count kept = 0;   ///< steps before the next state; 0: none is worth it
  };

  Priced(Count steps, Count states, double keeping)
      : keeping_(keeping),
        apart_(apart_of(steps)),
        parts_(parts_of(steps)),
        states_(counted(states)),
        best_(static_cast<std::size_t>((parts_ + 1) * (states_ + 1))) {
    if (apart_ > 1) {
      const Priced part(apart_, states_, keeping);
      for (Count s = 1; s <= states_; ++s) best_[of(1, s)] = {part.best(apart_, s).cost, 0};
    }
    for (Count n = 2; n <= parts_; ++n)
      for (Count s = 1; s <= states_; ++s) best_[of(n, s)] = best_of(n, s);
  }
  /// Whether a table for these would have the same numbers where both have any, and no others.
  bool has(Count steps, Count states, double keeping) const {
    return keeping == keeping_ && apart_of(steps) == apart_ && parts_of(steps) <= parts_ &&
           counted(states) <= states_;
  }
  Best best(Count steps, Count states) const {
    const Best& found = best_[of(parts_of(steps), counted(states))];
    return {found.cost, found.kept * apart_};
  }
  bool is_rough() const { return apart_ > 1; }

 private:
  static constexpr Count most_parts = 512;

  static Count apart_of(Count steps) { return (steps - 1) / most_parts + 1; }
  static Count counted(Count states) { return std::clamp<Count>(states, 1, most_states); }
  Count parts_of(Count steps) const { return (steps - 1) / apart_ + 1; }
  std::size_t of(Count parts, Count states) const {
    return static_cast<std::size_t>(parts * (states_ + 1) + states);
  }
  Best best_of(Count n, Count s) const {
    const double steps = static_cast<double>(n) * static_cast<double>(apart_);
    Best best{steps * (steps - 1) / 2, 0};
    if (s == 1) return best;
    const auto look = [&](Count m) {
      if (m < 1 || m >= n) return;
      const double cost = static_cast<double>(m) * static_cast<double>(apart_) + keeping_ +
                          best_[of(n - m, s - 1)].cost + best_[of(m, s)].cost;
      if (cost < best.cost) best = {cost, m};
    };
    if (n <= 64) {
      for (Count m = 1; m < n; ++m) look(m);
      return best;
    }
    // With one part more the place moves on by one, or by none, or a little back where two do; or
    // to somewhere else, once one state more is worth it.
    constexpr Count near = 4, places = 8, now_and_then = 4;
    const Count before = best_[of(n - 1, s)].kept;
    for (Count m = before - near; m <= before + near; ++m) look(m);
    if (n % now_and_then > 0) return best;
    for (Count i = 1; i < places; ++i) look(i * n / places);
    for (Count step = n / (2 * places); step > 0; step /= 2)
      for (const Count m = best.kept; const Count other : {m - step, m + step}) look(other);
    return best;
  }

  double keeping_;
  Count apart_, parts_, states_;
  std::vector<Best> best_;  ///< by parts and states; kept: in parts
};

/// The last table is kept, as the next question is one about the same run: what is in a table does
/// not depend on how large it is, so answers are those of a new one.
const Priced& priced(Count steps, Count states, double keeping) {
  thread_local std::optional<Priced> last;
  if (!last || !last->has(steps, states, keeping)) last.emplace(steps, states, keeping);
  return *last;
}

/// What binomial splits take where a state takes as long as `keeping` steps: of C(s + r, s) steps
/// the part s / (s + r) begins with a state that is kept.
double cost_of_splits(Count steps, Count states, double keeping) {
  const auto n = static_cast<double>(steps), s = static_cast<double>(states);
  const auto repeats = static_cast<double>(repeats_of(steps, s));
  return least_steps(steps, s) + keeping * (n * s / (s + repeats) - 1);
}

/// Nothing where binomial splits take less: of a long run, or with room for many states, those of
/// the programme are too rough.
std::optional<AdjointAction> next_of_priced(const AdjointState& state, const CheckpointRoom& room) {
  const Count steps = *state.adjoint, newest = state.stored.back().step, left = steps - newest;
  const auto more = static_cast<Count>(std::min(room.states, 1e6));
  const Count states = 1 + std::min(more, left - 1);
  const Priced& table = priced(left, states, state.keeping);
  const Priced::Best best = table.best(left, states);
  // To keep all is best where that takes no more than a step.
  const bool has_all = states == left && states > Priced::most_states;
  if (has_all && state.keeping <= 1) return std::nullopt;
  const Count counted = std::min(states, Priced::most_states);
  if (table.is_rough() && cost_of_splits(left, counted, state.keeping) < best.cost)
    return std::nullopt;
  if (best.kept == 0) return advance(state, steps - 1);
  if (state.model < newest + best.kept) return advance(state, newest + best.kept);
  const auto others = static_cast<double>(steps - state.model - 1);
  if (const auto tier = tier_for(state, std::min(room.states, others)))
    return AdjointAction{Kind::store, state.model, state.model, *tier};
  return advance(state, state.model + 1);  // it did not fit
}

AdjointAction next_of_known(const AdjointState& state, const CheckpointRoom& room) {
  const Count steps = *state.adjoint;
  const auto& stored = state.stored;
  const bool any = !stored.empty();
  const Count newest = any ? stored.back().step : AdjointState::nowhere;
  if (newest >= steps) return {Kind::drop, newest, newest, 0};
  if (steps == 0) return {Kind::done, 0, 0, 0};
  if (state.model >= steps || state.model < std::max<Count>(newest, 0)) return restore(state);
  const Count left = steps - state.model;
  if (left == 1) return {Kind::turn, state.model, steps, 0};

  if (any && state.keeping > 0)
    if (const auto next = next_of_priced(state, room)) return *next;
  if (any && room.sizes_differ()) return next_of_different(state, room);
  const auto split_of = [&](Count n, double states) {
    return Split(n, std::min(states, static_cast<double>(n - 1)) + 1);
  };
  const bool was_looked_at = state.model == newest && stored.size() > 1 && room.sizes_seen > 1 &&
                             room.sizes_seen <= CheckpointRoom::enough;
  if (was_looked_at) {
    const Count base = stored[stored.size() - 2].step;
    if (newest - base < split_of(steps - base, room.states + 1).taken)
      return {Kind::drop, newest, newest, 0};
  }
  if (any && room.states > 0) {
    const Split split = split_of(steps - newest, room.states);
    if (const auto next = look(state, room, newest + split.taken)) return *next;
    // States from `first` on are as good, but for one that was looked at.
    const Count least = state.here ? split.taken : split.first;
    if (state.model - newest < least) return advance(state, newest + split.taken);
  }
  if (!any || room.states > 0) {
    const auto tier = tier_for(state, std::min(room.states, static_cast<double>(left - 1)));
    if (tier) return {Kind::store, state.model, state.model, *tier};
    if (!any) throw_no_room(state);
    return advance(state, state.model + 1);  // the next one may be smaller than this one is
  }
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
  double part = 0;  // a state lies in one tier
  for (const Count free : state.free) {
    const double exact = sizes.relative(free), whole = std::floor(exact);
    room.states += whole;
    part = std::max(part, exact - whole);
  }
  room.sizes = sizes.likely();
  const bool is_told = !state.seen.empty() && state.keeping == 0;
  if (is_told) room.sizes_seen = std::ssize(sizes.seen);
  if (room.sizes_differ()) room.states += part;
  if (!state.stored.empty()) room.newest = sizes.relative(state.stored.back().bytes);
  return room;
}

AdjointAction next_action(const AdjointState& state, const CheckpointRoom& room) {
  check(state);
  return state.adjoint ? next_of_known(state, room) : next_of_unknown(state, room);
}

AdjointAction next_action(const AdjointState& state) { return next_action(state, room_of(state)); }

}  // namespace forebay
