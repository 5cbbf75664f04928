// A test hook that waits for random times around collective steps, so that ranks arrive in every
// order and some are late for a while. It is off unless FOREBAY_TEST_DELAYS holds a seed.
#pragma once

#include "base/types.h"

namespace forebay {

/// Call it before and after each step where ranks wait for each other or one may go on alone. Costs
/// one comparison if the hook is off.
void test_delay(Rank rank);

}  // namespace forebay
