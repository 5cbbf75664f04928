// Writes and reads a file collectively until somebody ends it; run_rank_killed.py does.
//
// Usage: loops FILE
//
// Every rank prints "rank R process P" once it is in its loop.
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void must(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 3);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  constexpr MPI_Offset rows = 64, share = 500;
  int id = -1, dims[2], var = -1;
  must(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id),
       "create");
  must(ncmpi_def_dim(id, "row", rows, &dims[0]), "def_dim");
  must(ncmpi_def_dim(id, "column", size * share, &dims[1]), "def_dim");
  must(ncmpi_def_var(id, "x", NC_INT, 2, dims, &var), "def_var");
  must(ncmpi_enddef(id), "enddef");
  const MPI_Offset start[2] = {0, rank * share}, count[2] = {rows, share};
  const MPI_Offset other[2] = {0, (rank + 1) % size * share};
  std::vector<int> values(static_cast<std::size_t>(rows * share));
  for (long round = 0;; ++round) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<int>(i * 31 + static_cast<std::size_t>(round));
    must(ncmpi_put_vara_int_all(id, var, start, count, values.data()), "put");
    must(ncmpi_get_vara_int_all(id, var, other, count, values.data()), "get");
    if (round > 0) continue;
    std::printf("rank %d process %ld\n", rank, static_cast<long>(::getpid()));
    std::fflush(stdout);
  }
}
