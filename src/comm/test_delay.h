// Test hook: waits for a random time where ranks meet, so that they arrive in every order, some of
// them late for a while. Off unless the environment variable FOREBAY_TEST_DELAYS holds a seed.
#pragma once

#include "base/types.h"

namespace forebay {

/// To be called before and after what makes ranks wait for each other, or lets one go on alone. One
/// comparison when the hook is off.
void test_delay(Rank rank);

}  // namespace forebay
