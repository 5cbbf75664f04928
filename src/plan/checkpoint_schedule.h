// What a program that computes an adjoint does next: go on, keep a state, go back to one, reverse a
// step (D4 ch. 4; Griewank and Walther 2000).
//
// The problem: step i takes state i to state i+1, and is reversed from state i. States come in
// order, steps are reversed in the opposite one, and not all states fit into the room that there
// is: those that are missing are computed again from the newest one before. States are compressed,
// so they have sizes of their own, which nobody knows before they are stored.
//
// The answer depends on what is given alone, and nothing is kept from one to the next: so it serves
// sizes that drift, room that changes, and a program that was killed and goes on.
//
// - *Steps known.* Room is counted in states: free bytes by what states took lately. Between two
//   states the split is binomial: with equal sizes no schedule takes fewer steps. Of the splits
//   that are as good as each other one towards the late ones is taken, which sizes that turn out
//   otherwise harm least. Where sizes differ, those that were seen lately are taken for equally
//   likely: a state is kept where that takes fewer steps than to look at the next ones, of which
//   one may be smaller or stand better (an optimal stopping problem; what is behind the next state
//   is as long as binomial splits of equal sizes are). Until three are known, states on the way to
//   the first place are stored for their sizes, and dropped again: one state's size tells little,
//   and what room there is for few depends on it. Where room turns out to be less, stored
//   states make room for later ones (checkpoint_schedule_test.cc compares with the optimum over
//   bytes, and with that of a program that knows how sizes are distributed).
// - *What keeping takes.* Each step that is reversed is preceded by one restore, whatever is kept,
//   so of all costs that of keeping a state, encoding and writing it, alone tells what is worth it.
//   Where it is told, splits are those of a dynamic programme over at most 512 steps, or as many
//   parts of a longer run.
// - *Steps not known.* States are kept where the split of a run that ended as late as its number of
//   repetitions allows would have them; others make room (Wang, Moin and Iaccarino 2009).
// - *Tiers.* Of the slots that are still needed the next state to be kept has the one that is
//   written and read least (Stumm and Walther 2009): it lies in the slowest tier that is needed.
//   That is not so of a few short runs; on the whole it takes fewer accesses of slow tiers than
//   the best of those schedules that keep each slot in one tier.
//
// An answer costs O(stored states + slots that steps not known look at), and 64 places of a split
// times the sizes that were seen, or with what keeping takes 512 times the states that there is
// room for, at most 128: once for a run, as each thread keeps the last table (1 MiB).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"

namespace forebay {

struct StoredState {
  Count step = 0;
  Count bytes = 0;
};

struct AdjointState {
  static constexpr Count nowhere = -1;

  Count model = 0;  ///< the state that the program has; nowhere: none, or what no step begins with
  /// Steps [0, adjoint) are still to be reversed; none while the model runs and nobody knows its
  /// end. The program sets it to the number of steps when it has got there.
  std::optional<Count> adjoint;
  std::vector<StoredState> stored;  ///< by step, each one once
  std::vector<Count> free;          ///< bytes of each tier, the quickest first
  /// Bytes of the model's state, where that is known: to be set once it was found not to fit; the
  /// largest number once it was kept, and dropped again. Until another state goes, or the model
  /// goes on. Of the first state a bound helps to choose its tier.
  std::optional<Count> here;
  /// Bytes of states that were kept lately, or did not fit, the latest last, each step once: what
  /// the next ones may take. Where there are none, or fewer than are stored, these tell.
  std::vector<Count> seen;
  /// As many steps of the model take as long as a state is encoded and written. Of runs whose
  /// number of steps is known.
  double keeping = 0;
};

struct AdjointAction {
  enum class Kind {
    advance,  ///< the model goes from state `from` to state `to`; steps not known: or ends before
    store,    ///< the model's state is kept, in `tier`
    restore,  ///< the model has state `from` again, which stays stored
    drop,     ///< state `from` goes
    turn,     ///< step `from` runs once more and is reversed; the model is at `to`, adjoint `from`
    done,     ///< everything is reversed, and nothing is stored any more
  };
  Kind kind = Kind::done;
  Count from = 0, to = 0;
  int tier = 0;

  bool operator==(const AdjointAction&) const = default;
};

/// Errc::eno_space where not even the first state fits, Errc::einval where there is no state to
/// begin from, or `state` makes no sense.
AdjointAction next_action(const AdjointState& state);

/// What sizes and free bytes tell, in states of the mean size. Ranks that have to act alike go by
/// the least room of all, and the largest sizes.
struct CheckpointRoom {
  static constexpr std::size_t likely = 12;  // few enough to be agreed on in a meeting
  double states =
      0;  ///< that there is room for, besides the stored ones; a part where sizes differ
  double newest = 1;                  ///< of the newest stored state
  static constexpr Count enough = 3;  // sizes, to choose where the next state is kept
  Count sizes_seen = likely;          ///< as many as that where they are the same, or nobody tells
  std::array<double, likely> sizes;   ///< in order, equally likely; all 1 where there is one size

  CheckpointRoom() { sizes.fill(1); }
  bool sizes_differ() const { return sizes.front() < sizes.back(); }
};
CheckpointRoom room_of(const AdjointState& state);

/// The same with what all ranks have agreed on. Bytes tell no more than whether the model's state
/// fits.
AdjointAction next_action(const AdjointState& state, const CheckpointRoom& room);

/// Steps that can be reversed with so many states, the first one among them, if none runs more
/// than `repeats` times before it is reversed: C(states + repeats, states), or the largest number.
Count steps_within(Count states, Count repeats);

}  // namespace forebay
