// Ranks that are threads of one process: for tests under a thread sanitizer, which sees what ranks
// do to memory that they share, and for tests without an MPI.
#pragma once

#include <functional>

#include "comm/comm.h"

namespace forebay {

/// Calls body(comm) on `ranks` threads, each a rank of one communicator; all must make the same
/// collective calls. Rethrows the exception of the lowest rank that had one, after all have ended;
/// where others still wait two minutes after the first one had, says what it was and aborts.
void run_as_threads(int ranks, const std::function<void(const Comm& comm)>& body);

}  // namespace forebay
