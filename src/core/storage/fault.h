// A test hook that makes a chosen system call of a chosen rank fail. It is off unless FOREBAY_FAULT
// is set, for example to "pwrite:rank=1:call=3:errno=ENOSPC": the third pwrite of rank 1 fails, and
// with ":from" appended, all later ones too. Calls: open, pread, pwrite, fsync, close, truncate,
// append (to an undo file). "pwritten" and "truncated" are calls that fail after they have taken
// effect. "pwrite:delay=500" makes all of them 500 microseconds longer instead. A program that was
// started with the variable may change it; calls are counted anew then.
#pragma once

#include "base/types.h"

namespace forebay {

/// Returns the errno to pretend, or 0. Waits first if calls are to take longer. Costs one
/// comparison if the hook is off.
int injected_fault(const char* call, Rank rank);

}  // namespace forebay
