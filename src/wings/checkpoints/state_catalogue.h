// The states of a store, and the order in which they are wanted.
//
// The states that expect() named come first, in its order. The others follow, the latest step
// first. All queries for one state, for the state that is wanted last in a tier, and for the space
// of adjoint states take O(log n) for n states. So the cost of a push or a pop hardly depends on n.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/raw_bytes.h"
#include "checkpoints/account.h"
#include "checkpoints/format/checkpoint.h"
#include "checkpoints/plan/checkpoint_schedule.h"

namespace forebay::checkpoint {

struct State {
  Record record;
  Tier tier = Tier::memory, pushed = Tier::memory;
  std::vector<RawBytes> memory;  ///< of each part, while the state is in memory
  bool busy = false;             ///< a thread reads or moves it
  bool replaced_synced = false;  ///< it was on the device before it replaced a synced state

  Count raw_bytes() const;

 private:
  friend class Catalogue;
  std::uint64_t turn_ = 0;  ///< its position in the expected order
};
using StatePtr = std::shared_ptr<State>;

class Catalogue {
 public:
  /// Adds a state. While it is in the catalogue, only its memory and `busy` may be changed.
  void add(const StatePtr& state);
  void remove(const State& state);
  void move(State& state, Record record, Tier tier);
  StatePtr find(StateId id) const;                                 ///< null: there is none
  const std::map<StateId, StatePtr>& all() const { return all_; }  ///< by kind, then step
  std::vector<StatePtr> in(Tier tier) const;
  std::size_t count(Kind kind) const;
  std::size_t count(Tier tier) const { return turns_[static_cast<std::size_t>(tier)].size(); }

  /// Returns the model's state of the latest step, `other` left out; null: there is none.
  StatePtr latest(const State* other = nullptr) const;
  /// Returns the state of a tier that is wanted last and is not busy; null: there is none.
  StatePtr wanted_last(Tier tier) const;

  /// Sets the order in which steps of the model are wanted. It replaces the earlier order.
  void expect(const std::vector<Count>& steps);
  /// Removes the first occurrence of a step from the expected order.
  void came(Count step);
  /// Returns the step that is expected next, or the one after `others` more.
  std::optional<Count> expected(std::size_t others = 0) const;
  bool expects() const { return !order_.empty(); }

  struct Adjoints {
    Count states = 0, bytes = 0;
  };
  Adjoints adjoints(Tier tier) const { return adjoints_[static_cast<std::size_t>(tier)]; }
  Count largest_adjoint() const;  ///< bytes of the values of the largest one; 0: none

  /// Returns a mark that is equal if the model's states have the same steps.
  std::uint64_t mark_of_steps() const { return mark_of_steps_; }
  /// Returns whether one of the model's states is stored in fewer bytes than its values have.
  bool has_encoded() const { return encoded_ > 0; }
  /// Returns all of the model's states, by step.
  std::vector<StoredState> all_of_model() const;
  /// Returns a sample of them that shows a schedule of `steps` steps the sizes, by step: the newest
  /// ones, those next to some places of the run, the smallest and the largest. O(log n).
  std::vector<StoredState> sample_of_model(Count steps) const;

  /// Returns how many entries all queries so far have visited.
  Count looked_at() const { return looked_at_; }

 private:
  static constexpr std::uint64_t not_expected = std::numeric_limits<std::uint64_t>::max();
  using Turn = std::tuple<std::uint64_t, Count, Kind>;  // a larger turn is wanted later

  std::uint64_t turn_of(StateId id) const;
  static Turn key_of(const State& state) {
    return {state.turn_, -state.record.id.step, state.record.id.kind};
  }
  void enter(State& state);
  void leave(const State& state);
  void count_in(const State& state, bool comes);
  void turn_again(Count step);

  std::map<StateId, StatePtr> all_;
  std::array<std::map<Turn, State*>, tier_count> turns_;  // states of each tier, by turn
  std::map<std::uint64_t, Count> order_;                  // expected steps, by turn
  std::set<std::pair<Count, std::uint64_t>> places_;      // the same by step
  std::array<Adjoints, tier_count> adjoints_;
  std::multiset<Count> adjoint_values_;
  std::set<std::pair<Count, Count>> sizes_;  // of the model's states: bytes, step
  std::size_t encoded_ = 0;
  std::uint64_t mark_of_steps_ = 0;
  mutable Count looked_at_ = 0;
};

}  // namespace forebay::checkpoint
