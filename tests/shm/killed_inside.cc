// Writes, and is killed while memory that the ranks of the node share is being made.
//
// Usage: killed_inside FILE
//
// The library finds posix_fallocate here before the C library's: what it calls to have the memory
// really there.
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

extern "C" __attribute__((visibility("default"))) int posix_fallocate(int /*fd*/, off_t /*offset*/,
                                                                      off_t /*length*/) {
  std::printf("killing\n");
  std::fflush(stdout);
  kill(getpid(), SIGKILL);
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1, id = -1, dim = -1, var = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2 || size < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const MPI_Offset elements = 1 << 20;
  ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id);
  ncmpi_def_dim(id, "x", elements, &dim);
  ncmpi_def_var(id, "values", NC_INT, 1, &dim, &var);
  ncmpi_enddef(id);
  const MPI_Offset start = rank, count = elements / size - 1, stride = size;
  std::vector<int> values(static_cast<size_t>(count), rank);
  ncmpi_put_vars_int_all(id, var, &start, &count, &stride, values.data());
  MPI_Abort(MPI_COMM_WORLD, 3);
  return 0;
}
