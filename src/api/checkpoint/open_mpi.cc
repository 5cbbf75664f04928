// The one function whose caller speaks MPI.
#include <mpi.h>
// above what it enables
#include <forebay_checkpoint.h>

#include "api/checkpoint/open_store.h"
#include "base/last_message.h"
#include "comm/mpi.h"

int forebay_checkpoint_open_mpi(MPI_Comm comm, const char* name, const char* hints, int* store) {
  using namespace forebay;  // NOLINT(google-build-using-namespace)
  return guard([&] { checkpoint::open_store(make_comm(comm), name, hints, store); });
}
