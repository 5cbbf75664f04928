// Test hook: makes a chosen system call of a chosen rank fail. Off unless the environment variable
// FOREBAY_FAULT says so, for example "pwrite:rank=1:call=3:errno=ENOSPC" (the third pwrite of rank
// 1 and, with ":from" appended, all later ones). Calls: open, pread, pwrite, fsync, close,
// truncate, append (to an undo file). "pwrite:delay=500" takes all of them 500 microseconds longer
// instead. A program that was started with it may set another, from which on calls are counted
// anew.
#pragma once

#include "base/types.h"

namespace forebay {

/// The errno to pretend, or 0; after a while, where calls are to take longer. One comparison when
/// the hook is off.
int injected_fault(const char* call, Rank rank);

}  // namespace forebay
