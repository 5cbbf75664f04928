// How a tool runs: alone, or as one rank of a job that an MPI launcher started.
#pragma once

#include "comm/comm.h"

namespace forebay {

/// Initialises MPI if the environment says that a launcher started this process, and finalises it
/// at the end. A process alone does not touch MPI, whose start takes a tenth of a second. There is
/// at most one session in the life of a process. Every rank of a job must make one, and must not
/// leave it by an error that the others do not have.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Returns all ranks of the job. The result must not outlive the session.
  const Comm& world() const { return world_; }

 private:
  bool initialised_ = false;
  Comm world_;
};

/// Returns whether this thread may call MPI, whatever the others do; true without MPI.
bool this_thread_may_talk();

/// Returns whether the environment says that an MPI launcher started this process: Open MPI, PMIx,
/// PMI (MPICH, Intel MPI, Slurm), MVAPICH, PALS or ALPS (Cray).
bool launched_by_mpi();

/// Local. Registers the one f. f(true) is called when MPI_Finalize begins, while ranks may still
/// communicate; f(false) when the process exits, with or without MPI_Finalize. A caller that may
/// have registered f before MPI started registers it again.
void at_the_end(void (*f)(bool ranks_are_there));

}  // namespace forebay
