#include <cstdlib>
#include <set>

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

// MPI deletes the attributes of MPI_COMM_SELF first.
void at_the_end(void (*f)()) {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  const bool by_mpi = initialised && !finalised;
  static std::set<void (*)()> known[2];  // told at exit, and by MPI
  auto& told = known[by_mpi ? 1 : 0];
  if (told.contains(f)) return;
  if (!by_mpi) {
    if (std::atexit(f) == 0) told.insert(f);
    return;
  }
  const auto call = [](MPI_Comm, int, void* kept, void*) {
    reinterpret_cast<void (*)()>(kept)();
    return MPI_SUCCESS;
  };
  int key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call, &key, nullptr),
            "MPI_Comm_create_keyval");
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, reinterpret_cast<void*>(f)), "MPI_Comm_set_attr");
  told.insert(f);
}

}  // namespace forebay
