// Changes netCDF-4 files that another library has made. See run_change_foreign.py.
//
// Usage: change_foreign rewrite FILE   rows of variables a and b, and all of variable unwritten
//        change_foreign refused FILE WORD   opening it for writing fails with a text that has WORD
#include <forebay.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int rounds = 6, rows = 120, columns = 37;
int rank = 0, size = 1, failures = 0;

void must(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::printf("rank %d: %s: %s (%s)\n", rank, what, ncmpi_strerror(code), forebay_error_message());
  ++failures;
}

// Every other row, in another order each time, so that chunks become longer and shorter, and space
// of old ones is used again. A row's value tells the last round that wrote it.
void rewrite(const char* path) {
  int id = -1, a = -1, b = -1, unwritten = -1;
  must(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &id), "open");
  must(ncmpi_inq_varid(id, "a", &a), "inq_varid");
  must(ncmpi_inq_varid(id, "b", &b), "inq_varid");
  must(ncmpi_inq_varid(id, "unwritten", &unwritten), "inq_varid");
  const MPI_Offset first = columns * rank / size, end = columns * (rank + 1) / size;
  for (int round = 1; round <= rounds; ++round) {
    for (int row = round % 2; row < rows; row += 2) {
      const MPI_Offset start[2] = {row, first}, count[2] = {1, end - first};
      std::vector<int> values;
      for (MPI_Offset c = first; c < end; ++c)
        values.push_back(round % 3 == 0 ? round
                                        : static_cast<int>((row * 31 + c * c * round) % 101));
      must(ncmpi_put_vara_int_all(id, a, start, count, values.data()), "put a");
      if (row % 8 < 2) must(ncmpi_put_vara_int_all(id, b, start, count, values.data()), "put b");
    }
    must(ncmpi_sync(id), "sync");
  }
  const MPI_Offset one = 5;
  const float value = 0.5F;
  must(ncmpi_put_var1_float_all(id, unwritten, &one, &value), "put unwritten");
  must(ncmpi_close(id), "close");
}

void refused(const char* path, const char* word) {
  int id = -1;
  const int code = ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &id);
  const std::string said = forebay_error_message();
  if (code != NC_ENOTSUPPORT || said.find(word) == std::string::npos) {
    std::printf("rank %d: open for writing: %s (%s)\n", rank, ncmpi_strerror(code), said.c_str());
    ++failures;
  }
  must(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &id), "open");
  must(ncmpi_close(id), "close");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc == 3 && std::strcmp(argv[1], "rewrite") == 0) {
    rewrite(argv[2]);
  } else if (argc == 4 && std::strcmp(argv[1], "refused") == 0) {
    refused(argv[2], argv[3]);
  } else {
    ++failures;
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
