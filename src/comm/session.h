// The place of a tool among others: alone, or one rank of a job that an MPI launcher started.
#pragma once

#include "comm/comm.h"

namespace forebay {

/// Initialises MPI if a launcher started this process (which the environment tells), and finalises
/// it at the end. Alone it does not touch MPI, whose start takes a tenth of a second. At most one
/// in the life of a process; every rank of a job must make one, and let it go without an error that
/// the others do not have.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// All ranks of the job. Must not outlive the session.
  const Comm& world() const { return world_; }

 private:
  bool initialised_ = false;
  Comm world_;
};

/// Whether the environment says that an MPI launcher started this process: Open MPI, PMIx, PMI
/// (MPICH, Intel MPI, Slurm), MVAPICH, PALS or ALPS (Cray).
bool launched_by_mpi();

/// Local. f() is called when MPI_Finalize begins, while ranks may still talk to each other; where
/// MPI has not started, or has ended, when the process exits. To be told again by whoever may have
/// told it on the other side of MPI's start: f() is called once at each of these ends.
void at_the_end(void (*f)());

}  // namespace forebay
