#include "checkpoints/plan/checkpoint_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/of_this_thread.h"
#include "checkpoints/plan/checkpoint_course.h"
#include "checkpoints/plan/checkpoint_steps.h"

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

/// Predicts the next sizes from the latest ones.
struct Sizes {
  std::vector<Count> seen;  ///< the latest ones, by increasing size
  double mean = 1;

  explicit Sizes(const AdjointState& state) {
    for (const StoredState& s : state.seen) seen.push_back(s.bytes);
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
};

/// The known sizes, in any order; all entries of a step are equal.
std::vector<StoredState> known_sizes(const AdjointState& state) {
  std::vector<StoredState> known = state.stored;
  known.insert(known.end(), state.seen.begin(), state.seen.end());
  return known;
}

bool differ(const std::vector<StoredState>& known) {
  return std::any_of(known.begin(), known.end(),
                     [&](const StoredState& s) { return s.bytes != known.front().bytes; });
}

/// Returns whether the model is after a stored state, and more than the last step is left.
bool is_on_its_way(const AdjointState& state) {
  return state.adjoint && !state.stored.empty() && state.model >= state.stored.back().step &&
         state.model < *state.adjoint - 1;
}

/// The tier for the model's state if `needed` states, including it, are still to be kept.
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

/// The best place y of the next state on the way through `steps` steps from a kept state, with
/// `states` states in all: it minimises y + least_steps(steps - y, states - 1) + least_steps(y,
/// states). All y from first to last are equally good; `taken` is at three quarters of that range.
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

/// Steps that run from the model's state on until all steps after `base` are reversed, if `room`
/// more states fit (0 or 1).
double steps_from(const AdjointState& state, Count base, double room) {
  const Count steps = *state.adjoint - base, at = state.model - base;
  if (room == 0) return static_cast<double>(steps - 1 - at) + least_steps(steps - 1, 1);
  const Count to = std::max(at, Split(steps, room + 1).taken);
  return static_cast<double>(to - at) + least_steps(steps - to, room) + least_steps(to, room + 1);
}

/// If there is no space left: a stored state whose space is more useful elsewhere. There is one if
/// the space has shrunk, or sizes have turned out larger.
std::optional<Count> misplaced(const AdjointState& state) {
  const auto stored = state.all_stored ? state.all_stored() : state.stored;
  const auto between = [&](std::size_t i, std::size_t k) {
    return stored[k].step - stored[i].step;
  };
  std::optional<Count> found;
  // Steps after state i, with and without space for one more state. Others do not change if i is
  // dropped.
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

/// Stores the model's state although its size is unknown.
AdjointAction store(const AdjointState& state, double needed) {
  const auto roomiest = std::max_element(state.free.begin(), state.free.end());
  const int tier =
      tier_for(state, needed).value_or(static_cast<int>(roomiest - state.free.begin()));
  return {Kind::store, state.model, state.model, tier};
}

/// While few sizes are known, stores a state on the way to `place`, where the next one may be kept,
/// for its size; it is dropped again.
std::optional<AdjointAction> look(const AdjointState& state, const CheckpointRoom& room,
                                  Count place) {
  if (room.sizes_seen >= CheckpointRoom::enough) return std::nullopt;
  const Count newest = state.stored.back().step;
  const Count apart = (place - newest) / CheckpointRoom::enough;
  const bool known = state.model == newest || state.here;
  const Count at = std::max(newest + apart * room.sizes_seen, state.model + (known ? 1 : 0));
  if (at >= place) return std::nullopt;
  if (at > state.model) return advance(state, at);
  return store(state, 0);
}

/// Returns whether the model's state fits into the free space.
bool fits(const AdjointState& state, const CheckpointRoom& room) {
  constexpr double rounding = 1e-6;
  if (state.here) return tier_for(state, 0).has_value();
  return room.here <= room.states + rounding;
}

/// The newest stored state that a plan may drop and that is not in `kept`.
std::optional<Count> newest_planned_but(const AdjointState& state, const std::vector<Count>& kept) {
  const auto planned = std::min(state.stored.size(), CheckpointRoom::most_planned);
  for (std::size_t i = state.stored.size(); i-- > state.stored.size() - planned + 1;)
    if (!std::binary_search(kept.begin(), kept.end(), state.stored[i].step))
      return state.stored[i].step;
  return std::nullopt;
}

/// For states of different sizes. The next size is unknown. So each state that fits is stored, at
/// some distance from the one before. Once one does not fit, the plan says which stored state to
/// drop for it, if any.
AdjointAction next_of_different(const AdjointState& state, const CheckpointRoom& room) {
  constexpr double rounding = 1e-3;
  const Count steps = *state.adjoint, model = state.model;
  // Another state would gain nothing, or no byte is free and no state can be dropped.
  if (steps - state.stored.back().step <= 2 || (!room.has_any && state.stored.size() == 1))
    return advance(state, steps - 1);
  const CheckpointPlan plan(state, room.course, room.states);
  const auto way = plan.best(false);
  if (model != state.stored.back().step) {
    const bool is_known = room.knows_here || state.here;
    if (!is_known || fits(state, room))
      return store(state, std::min(room.states, static_cast<double>(steps - model - 1)));
    const auto keeping = plan.best(true);
    if (keeping.steps < way.steps - rounding)
      if (const auto step = newest_planned_but(state, keeping.kept))
        return {Kind::drop, *step, *step, 0};
  }
  return advance(state, std::min({way.next, model + plan.apart(), steps - 1}));
}

/// The best places if storing a state costs as much as `keeping` steps: a table for runs of up to
/// `steps` steps, with up to `states` states, including the stored first one.
class Priced {
 public:
  static constexpr Count most_states = 128;  // the table has no more
  struct Best {
    double cost = 0;  ///< in steps
    Count kept = 0;   ///< steps before the next state; 0: no state is worth its cost
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
  /// Returns whether a table for these arguments would be a part of this one.
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
    // With one part more, the place mostly moves by one or zero, or a little back if two places are
    // equally good. It moves elsewhere once one more state is worth its cost.
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

/// Keeps the last table, since the next query is mostly about the same run. Entries do not depend
/// on the size of the table, so the answers are those of a new one.
const Priced& priced(Count steps, Count states, double keeping) {
  auto& last = of_this_thread<std::optional<Priced>, struct Last>();
  if (!last || !last->has(steps, states, keeping)) last.emplace(steps, states, keeping);
  return *last;
}

/// The cost of binomial splits if storing a state costs `keeping` steps: of C(s + r, s) steps, the
/// fraction s / (s + r) begins with a kept state.
double cost_of_splits(Count steps, Count states, double keeping) {
  const auto n = static_cast<double>(steps), s = static_cast<double>(states);
  const auto repeats = static_cast<double>(repeats_of(steps, s));
  return least_steps(steps, s) + keeping * (n * s / (s + repeats) - 1);
}

/// Returns nothing if binomial splits cost less. In a long run or with space for many states, the
/// table is too coarse.
std::optional<AdjointAction> next_of_priced(const AdjointState& state, const CheckpointRoom& room) {
  const Count steps = *state.adjoint, newest = state.stored.back().step, left = steps - newest;
  const auto more = static_cast<Count>(std::min(room.states, 1e6));
  const Count states = 1 + std::min(more, left - 1);
  const Priced& table = priced(left, states, state.keeping);
  const Priced::Best best = table.best(left, states);
  // Keeping all states is best if that costs at most a step.
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

/// Returns whether so many states fit that the next one is best kept nearer than any place that a
/// plan considers. Splits for equal sizes are then better.
bool has_much_room(Count steps, const CheckpointRoom& room) {
  constexpr Count places = 64;
  if (steps <= places) return false;
  const double largest =
      room.course.empty() ? 1 : *std::max_element(room.course.begin(), room.course.end());
  const double states =
      std::min(room.states / std::max(largest, 1.0), static_cast<double>(steps - 1));
  return Split(steps, std::floor(states) + 1).taken < steps / places;
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
  if (room.sizes_differ && !has_much_room(steps - newest, room))
    return next_of_different(state, room);
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
  // Other states may be smaller than the first one.
  if (any && room.states <= 0 && room.has_any && stored.size() == 1)
    if (const auto next = look(state, room, steps - 1)) return *next;
  if (any && room.states > 0) {
    const Split split = split_of(steps - newest, room.states);
    if (const auto next = look(state, room, newest + split.taken)) return *next;
    // States from `first` on are equally good, unless one was stored for its size.
    const Count least = state.here ? split.taken : split.first;
    if (state.model - newest < least) return advance(state, newest + split.taken);
  }
  if (!any || room.states > 0) {
    const auto tier = tier_for(state, std::min(room.states, static_cast<double>(left - 1)));
    if (tier) return {Kind::store, state.model, state.model, *tier};
    if (!any) throw_no_room(state);
    return advance(state, state.model + 1);  // the next one may be smaller
  }
  if (const auto step = misplaced(state)) return {Kind::drop, *step, *step, 0};
  return advance(state, steps - 1);
}

/// The states to keep, from `first` on, while a run of unknown length is at state `at`. Each is at
/// the split of a run that continues for as long as it can without one more repetition.
struct Kept {
  std::vector<Count> steps;  ///< in order
  Count next = most;         ///< the first state after `at` to keep

  Kept(Count first, Count at, Count states) {
    steps.push_back(first);
    for (; states > 1; --states) {
      const Count done = at - steps.back();
      Count repeats = 0;
      while (steps_within(states, repeats) <= done) ++repeats;
      // The split moves on with each further repetition.
      next = std::min(next, steps.back() + steps_within(states, repeats));
      if (done == 0) break;
      steps.push_back(steps.back() + steps_within(states, repeats - 1));
    }
  }
  bool has(Count step) const { return std::binary_search(steps.begin(), steps.end(), step); }
};

/// A stored state that is not to be kept, with the smallest gap after its removal.
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
  // Slots beyond the number of steps so far would change nothing.
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

CheckpointRoom room_of(const AdjointState& state) {
  check(state);
  const Sizes sizes(state);
  CheckpointRoom room;
  double part = 0;  // a state must fit into one tier
  for (const Count free : state.free) {
    const double exact = sizes.relative(free), whole = std::floor(exact);
    room.states += whole;
    part = std::max(part, exact - whole);
  }
  room.states += part;
  if (state.keeping > 0) return room;
  if (!state.seen.empty()) room.sizes_seen = std::ssize(sizes.seen);
  if (!is_on_its_way(state)) return room;
  const auto known = known_sizes(state);
  const auto here = std::find_if(known.begin(), known.end(),
                                 [&](const StoredState& s) { return s.step == state.model; });
  room.sizes_differ = differ(known);
  if (room.sizes_differ) room.course = course_of(state);
  // If all known sizes are equal, the model's state will have that size, too. Such a rank leaves
  // the decision to others.
  room.knows_here = !room.sizes_differ || here != known.end();
  if (here != known.end()) room.here = sizes.relative(here->bytes);
  return room;
}

std::vector<double> course_of(const AdjointState& state) {
  return sizes_at(plan_places(state), known_sizes(state), Sizes(state).mean);
}

void note_size(std::vector<StoredState>& seen, StoredState state) {
  constexpr std::size_t most_seen = 64;
  std::erase_if(seen, [&](const StoredState& s) { return s.step == state.step; });
  seen.push_back(state);
  if (seen.size() <= most_seen) return;
  // Removes the older size that its neighbours predict best.
  std::vector<StoredState> by_step = seen;
  std::sort(by_step.begin(), by_step.end(),
            [](const StoredState& a, const StoredState& b) { return a.step < b.step; });
  const auto latest = seen.end() - std::ptrdiff_t{CheckpointRoom::likely};
  auto least = seen.begin();
  Count narrowest = most;
  for (std::size_t i = 1; i + 1 < by_step.size(); ++i) {
    const Count width = by_step[i + 1].step - by_step[i - 1].step;
    const auto at = std::find_if(seen.begin(), latest,
                                 [&](const StoredState& s) { return s.step == by_step[i].step; });
    if (width >= narrowest || at == latest) continue;
    narrowest = width;
    least = at;
  }
  seen.erase(least);
}

AdjointAction next_action(const AdjointState& state, const CheckpointRoom& room) {
  check(state);
  CheckpointRoom whole = room;
  whole.has_any = room.states > 0;
  if (!room.sizes_differ) whole.states = std::floor(room.states);
  return state.adjoint ? next_of_known(state, whole) : next_of_unknown(state, whole);
}

AdjointAction next_action(const AdjointState& state) { return next_action(state, room_of(state)); }

}  // namespace forebay
