#include <cstdlib>

#include "comm/mpi.h"
#include "comm/session.h"

namespace forebay {

// A batch script of Slurm has SLURM_PROCID too, so that variable alone says nothing.
bool launched_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
                           "PALS_RANKID", "ALPS_APP_PE"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

Session::Session() {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (!initialised && !launched_by_mpi()) return;
  if (!initialised) {
    int provided = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    initialised_ = true;
  }
  world_ = make_comm(MPI_COMM_WORLD);
}

Session::~Session() {
  if (!initialised_) return;
  world_ = Comm();
  MPI_Finalize();
}

}  // namespace forebay
