// Several files with chunked variables open at once, written and read in turn by all ranks.
//
// Usage: open_files DIRECTORY FILES ROWS [LIMIT]
//
// Each variable has ROWS × 1024 integers, in chunks of which every rank writes a part (some
// columns) and reads another (some rows), a few rows first, then all others at once. With LIMIT,
// files and memory of this process beyond so many bytes are refused from the second step on
// (RLIMIT_FSIZE). Exits with 1 where a call fails or a value is wrong.
#include <mpi.h>
#include <pnetcdf.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/harness.h"

namespace {

constexpr MPI_Offset columns = 1024, few = 4;

int rank = 0, size = 1;
MPI_Offset rows = 0;
bool wrong = false;

struct Range {
  MPI_Offset begin, end;
};

// This rank's share.
Range share(MPI_Offset begin, MPI_Offset end) {
  return {begin + (end - begin) * rank / size, begin + (end - begin) * (rank + 1) / size};
}

// Little changes from row to row, so that files stay far smaller than what is in memory.
int value_of(int file, MPI_Offset row, MPI_Offset column) {
  return static_cast<int>(row / 64 * 7919 + column + file * 1000003);
}

void check(int code, const std::string& what) {
  if (code == NC_NOERR) return;
  std::printf("rank %d: %s: %s\n", rank, what.c_str(), forebay_test::error_name(code).c_str());
  wrong = true;
}

int create(const std::string& path) {
  int id = -1, dims[2] = {}, var = -1;
  check(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id),
        "create");
  check(ncmpi_def_dim(id, "row", rows, &dims[0]), "def_dim");
  check(ncmpi_def_dim(id, "column", columns, &dims[1]), "def_dim");
  check(ncmpi_def_var(id, "values", NC_INT, 2, dims, &var), "def_var");
  check(ncmpi_enddef(id), "enddef");
  return id;
}

void put(int id, int file, MPI_Offset begin, MPI_Offset end) {
  const Range mine = share(0, columns);
  const MPI_Offset start[2] = {begin, mine.begin}, count[2] = {end - begin, mine.end - mine.begin};
  std::vector<int> values;
  values.reserve(static_cast<size_t>(count[0] * count[1]));
  for (MPI_Offset r = begin; r < end; ++r)
    for (MPI_Offset c = mine.begin; c < mine.end; ++c) values.push_back(value_of(file, r, c));
  check(ncmpi_put_vara_int_all(id, 0, start, count, values.data()), "put");
}

void get(int id, int file, MPI_Offset begin, MPI_Offset end) {
  const Range mine = share(begin, end);
  const MPI_Offset start[2] = {mine.begin, 0}, count[2] = {mine.end - mine.begin, columns};
  std::vector<int> values(static_cast<size_t>(count[0] * count[1]), -1);
  check(ncmpi_get_vara_int_all(id, 0, start, count, values.data()), "get");
  size_t at = 0, bad = 0;
  for (MPI_Offset r = mine.begin; r < mine.end; ++r)
    for (MPI_Offset c = 0; c < columns; ++c) bad += values[at++] != value_of(file, r, c) ? 1 : 0;
  if (bad == 0) return;
  std::printf("rank %d: %zu of %zu values of file %d are wrong\n", rank, bad, at, file);
  wrong = true;
}

void run(const std::string& directory, int files, rlim_t limit) {
  std::vector<int> ids;
  for (int f = 0; f < files; ++f)
    ids.push_back(create(directory + "/open" + std::to_string(f) + ".nc"));
  for (int f = 0; f < files; ++f) put(ids[static_cast<size_t>(f)], f, 0, few);
  for (int f = 0; f < files; ++f) get(ids[static_cast<size_t>(f)], f, 0, few);
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit now{limit > 0 ? limit : old.rlim_cur, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &now);
  for (int f = 0; f < files; ++f) put(ids[static_cast<size_t>(f)], f, few, rows);
  for (int f = 0; f < files; ++f) get(ids[static_cast<size_t>(f)], f, 0, rows);
  setrlimit(RLIMIT_FSIZE, &old);
  for (int f = 0; f < files; ++f) get(ids[static_cast<size_t>(f)], f, 0, few);
  for (const int id : ids) check(ncmpi_close(id), "close");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  forebay_test::start_watch("open_files", rank, 60);
  if (argc >= 4) {
    rows = std::atoll(argv[3]);
    run(argv[1], std::atoi(argv[2]), argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0);
  } else {
    std::fprintf(stderr, "usage: open_files DIRECTORY FILES ROWS [LIMIT]\n");
    wrong = true;
  }
  forebay_test::stop_watch();
  int bad = wrong ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return bad;
}
