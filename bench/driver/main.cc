// One workload a run, on the ranks of MPI_COMM_WORLD. Programs differ in the definition of
// add_workloads() that they link, and in the name of their backend.

#include <mpi.h>

#include "driver/command.h"

#ifndef FOREBAY_BENCH_BACKEND
#error "define FOREBAY_BENCH_BACKEND: the name of the library that this executable measures"
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = forebay::bench::run_program(argc, argv, FOREBAY_BENCH_BACKEND);
  MPI_Finalize();
  return status;
}
