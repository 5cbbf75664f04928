// Runs ranks as threads of one process: for tests under a thread sanitizer, which sees how ranks
// use shared memory, and for tests without MPI.
#pragma once

#include <functional>

#include "comm/comm.h"

namespace forebay {

/// Calls body(comm) on `ranks` threads, each a rank of one communicator; all must make the same
/// collective calls. After all have ended, rethrows the exception of the lowest rank that had one.
/// If some still wait two minutes after the first exception, prints it and aborts.
void run_as_threads(int ranks, const std::function<void(const Comm& comm)>& body);

}  // namespace forebay
