// The one function that takes an MPI communicator.
#include <mpi.h>
// after <mpi.h>, which enables part of it
#include <forebay_checkpoint.h>

#include "base/last_message.h"
#include "checkpoints/api/open_store.h"
#include "comm/mpi.h"

int forebay_checkpoint_open_mpi(MPI_Comm comm, const char* name, const char* hints, int* store) {
  using namespace forebay;  // NOLINT(google-build-using-namespace)
  return guard([&] { checkpoint::open_store(make_comm(comm), name, hints, store); });
}
