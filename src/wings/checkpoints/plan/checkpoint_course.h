// Which states are kept if states differ in size (checkpoints/plan/checkpoint_schedule.h).
//
// The sizes of encoded states are known. Between two of them the logarithm of the size is
// interpolated linearly; after the last one the trend continues. Stored states may be dropped
// again. So a plan says which of them are kept, and where the next one is stored. It is found by
// dynamic programming over the stored states and, between them, over some places of the run and the
// free bytes. No interval takes more steps than binomial splits would if all states were as large
// as its largest one, so a plan is exact for equal sizes.
#pragma once

#include <cstddef>
#include <vector>

#include "base/types.h"
#include "checkpoints/plan/checkpoint_schedule.h"

namespace forebay {

/// The places of the run whose sizes a plan uses, in order: the newest stored states, the model's
/// state, and some places between and after these. The last one is the end of the run. Ranks with
/// the same stored steps have the same places.
std::vector<Count> plan_places(const AdjointState& state);

/// Interpolates the sizes of states at these places, in units of `unit` bytes, from the known ones,
/// which may be in any order. 1 if none is known.
std::vector<double> sizes_at(const std::vector<Count>& places, std::vector<StoredState> known,
                             double unit);

/// A plan from the model's state on. That state is after a stored one and before the last step.
class CheckpointPlan {
 public:
  /// `sizes` are the sizes at plan_places(state). `free`, in the same unit, is the free space.
  CheckpointPlan(const AdjointState& state, const std::vector<double>& sizes, double free);

  struct Way {
    double steps = 0;         ///< until all steps after the first place are reversed
    Count next = 0;           ///< the next state after the model's to keep; the last place: none
    std::vector<Count> kept;  ///< stored states to keep but the first; also the model's if kept
  };
  /// The best plan, or the best one that keeps the model's state.
  Way best(bool keeps_model) const;
  /// How many steps apart states should be stored on the way, in case they turn out to be useful.
  Count apart() const;

 private:
  static constexpr std::size_t levels = 96;  // levels of free space

  std::size_t index_of(Count step) const;
  std::size_t end() const { return places_.size() - 1; }
  float* row(std::size_t from, std::size_t to) {
    return least_.data() + (from * places_.size() + to) * (levels + 1);
  }
  const float* row(std::size_t from, std::size_t to) const {
    return least_.data() + (from * places_.size() + to) * (levels + 1);
  }
  void fill(std::size_t from, std::size_t to);
  double to_last_step(std::size_t from, std::size_t level) const;
  Way go_on(std::size_t base, std::size_t level) const;

  std::vector<Count> places_, stored_;
  std::vector<double> sizes_;  ///< at places, in levels
  Count model_ = 0;
  double free_ = 0;           ///< levels
  std::vector<float> least_;  ///< steps, by begin and end of an interval, and its space
};

}  // namespace forebay
