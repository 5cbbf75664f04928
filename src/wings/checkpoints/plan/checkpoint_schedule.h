// The next action of a program that computes an adjoint: advance, store a state, restore one,
// reverse a step (Hou 2023, chapter 4; Griewank and Walther 2000).
//
// The problem: step i takes state i to state i+1, and its reversal needs state i. States are
// computed in order, steps are reversed in the opposite order, and not all states fit into the
// available space. Missing states are computed again from the newest stored one before them. States
// are compressed, so their sizes differ and are not known before they are stored.
//
// The answer only depends on the arguments; no other state is kept. So it also works if sizes
// drift, if the space changes, and after a restart.
//
// - *Known number of steps.* Space is counted in states: free bytes divided by the latest sizes.
//   Between two states the split is binomial: for equal sizes no schedule takes fewer steps. Of
//   equally good splits a late one is taken, which suffers least if sizes change. Until three sizes
//   are known, states on the way to the first place are stored only for their sizes and dropped
//   again, since one size is a poor estimate. If the space turns out to be smaller, stored states
//   are dropped for later ones.
// - *Different sizes.* The next sizes are unknown: they may follow the trend or leap. So the
//   forward run stores each state that fits, at some distance. Once a state does not fit, a plan
//   over all stored states, with the sizes seen, says which one to drop
//   (checkpoints/plan/checkpoint_course.h). A state that was stored in vain has cost no step. The
//   test of this file compares with the optimum over bytes.
// - *Much space.* If the best place of the next state is nearer than any place that these plans
//   consider, states are treated as equal in size. If all states fit, no step runs twice.
// - *Cost of storing.* Each reversed step needs one restore, whatever is stored. So only the cost
//   of encoding and writing a state matters. If it is given, splits come from dynamic programming
//   over at most 512 steps, or as many parts of a longer run.
// - *Unknown number of steps.* A state is kept if the split of a run that ended as late as its
//   number of repetitions allows would keep it; others are dropped (Wang, Moin and Iaccarino 2009).
// - *Tiers.* Among the slots still needed, the next state gets the one that is written and read
//   least (Stumm and Walther 2009), so it goes to the slowest tier that is needed. A few short runs
//   are exceptions; on the whole, slow tiers are accessed less than with the best schedule that
//   keeps each slot in one tier.
//
// Cost of an answer: O(stored states + slots considered if the number of steps is unknown). For
// different sizes: p³ ÷ 6 for p places (22 and those of at most 33 stored states) times 96 levels
// of space, about 0.3 ms. With a cost of storing: 512 times the number of states that fit, at most
// 128, once for a run, since each thread keeps its last table (1 MiB).
#pragma once

#include <cstdint>
#include <functional>
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

  Count model = 0;  ///< the program's current state; nowhere: none, or one that no step begins with
  /// Steps [0, adjoint) are still to be reversed; nothing while the model runs to an unknown end.
  /// The program sets it to the number of steps when it gets there.
  std::optional<Count> adjoint;
  std::vector<StoredState> stored;  ///< by step, without duplicates
  std::vector<Count> free;          ///< bytes of each tier, the fastest first
  /// Bytes of the model's state, if known. The caller sets it once the state did not fit, and to
  /// the largest number once it was stored and dropped again. It holds until another state is
  /// dropped or the model advances. For the first state, an upper limit helps to choose the tier.
  std::optional<Count> here;
  /// Bytes of states that were stored or did not fit, each step once, the latest last, as
  /// note_size() leaves them. They predict the next sizes. If there are fewer than stored states,
  /// the stored ones are used instead.
  std::vector<StoredState> seen;
  /// Time to encode and write a state, in steps of the model. Only for runs with a known number of
  /// steps.
  double keeping = 0;
  /// Returns all stored states, if `stored` has only the newest ones and those that predict sizes;
  /// few answers need all. Only for runs with a known number of steps.
  std::function<std::vector<StoredState>()> all_stored;
};

struct AdjointAction {
  enum class Kind {
    advance,  ///< the model runs from state `from` to `to`, or to an unknown end before
    store,    ///< the model's state is stored in `tier`
    restore,  ///< the model gets state `from`, which stays stored
    drop,     ///< state `from` is deleted
    turn,     ///< step `from` runs again and is reversed; the model is at `to`, adjoint `from`
    done,     ///< everything is reversed, and no state is stored
  };
  Kind kind = Kind::done;
  Count from = 0, to = 0;
  int tier = 0;

  bool operator==(const AdjointAction&) const = default;
};

/// Errc::eno_space if not even the first state fits. Errc::einval if there is no state to begin
/// from, or `state` makes no sense.
AdjointAction next_action(const AdjointState& state);

/// Adds a size to those seen. At most 64 are kept: the latest ones, and some others from all over
/// the run.
void note_size(std::vector<StoredState>& seen, StoredState state);

/// What sizes and free bytes imply, in states of the mean size. Ranks that must act alike use the
/// minimum of the space and the maximum of the sizes.
struct CheckpointRoom {
  static constexpr std::size_t likely = 12;        ///< latest sizes used for the mean
  static constexpr std::size_t most_planned = 33;  ///< newest stored states that a plan considers
  static constexpr Count enough = 3;               // sizes needed to place the next state
  double states = 0;           ///< how many more states fit, including a fraction of one
  Count sizes_seen = likely;   ///< known sizes used; `likely` if none was given
  bool has_any = true;         ///< there are free bytes; next_action() sets it
  bool sizes_differ = false;   ///< the model is on its forward way, and there is a course
  std::vector<double> course;  ///< course_of()
  bool knows_here = false;     ///< the size of the model's state is known, if sizes differ
  double here = 0;
};
/// Sizes at places of the run that depend only on the steps.
std::vector<double> course_of(const AdjointState& state);
CheckpointRoom room_of(const AdjointState& state);

/// The same with values that all ranks have agreed on. Bytes only say whether the model's state
/// fits.
AdjointAction next_action(const AdjointState& state, const CheckpointRoom& room);

}  // namespace forebay
