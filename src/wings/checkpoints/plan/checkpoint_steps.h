// How many steps run if states of equal size are kept in the best places (Griewank and Walther
// 2000). The number of states may be a fraction, like a mean of sizes.
#pragma once

#include <vector>

#include "base/types.h"

namespace forebay {

/// The number of steps that can be reversed with `states` stored states, including the first one,
/// if no step runs more than `repeats` times before it is reversed: C(states + repeats, states), or
/// the largest number.
Count steps_within(Count states, Count repeats);

/// How often the last of `steps` steps runs before it is reversed.
Count repeats_of(Count steps, double states);

/// The least number of additional runs to reverse `steps` steps from a stored state, the first of
/// `states`. One more step adds its repeats.
double least_steps(Count steps, double states);

/// The same with 1, 2, … states, up to min(most_states, steps); [0] is for 1.
std::vector<float> least_steps_by_states(Count steps, Count most_states);

}  // namespace forebay
