#include <cstdlib>

#include "comm/mpi.h"
#include "comm/session.h"

namespace forebay {

// SLURM_PROCID alone says nothing, because batch scripts of Slurm have it, too.
bool launched_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
                           "PALS_RANKID", "ALPS_APP_PE"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

bool this_thread_may_talk() {
  int initialised = 0, finalised = 0, level = MPI_THREAD_SINGLE, is_main = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (!initialised || finalised) return true;
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&is_main);
  return level == MPI_THREAD_MULTIPLE || is_main != 0;
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

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first.
void at_the_end(void (*f)(bool ranks_are_there)) {
  static void (*told)(bool) = nullptr;
  if (told == nullptr && std::atexit([] { told(false); }) == 0) told = f;
  static bool mpi_is_told = false;
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (mpi_is_told || !initialised || finalised) return;
  const auto call = [](MPI_Comm, int, void*, void*) {
    told(true);
    return MPI_SUCCESS;
  };
  int key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call, &key, nullptr),
            "MPI_Comm_create_keyval");
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
  mpi_is_told = true;
}

}  // namespace forebay
