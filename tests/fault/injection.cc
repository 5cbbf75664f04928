// Writes and reads a file while one system call of one rank is made to fail.
//
// Usage: injection prepare|write|redefine|read|check|written|rewrite FILE [COLUMNS]
//
// The library's test hook (the environment variable FOREBAY_FAULT) decides which call fails; see
// run_injection.py, which walks it over every call of every rank. Every collective call must return
// the same code on every rank, and nothing may hang. Prints "codes A B C..." with the codes that
// were seen, in order, and "failed CALL..." with the calls that returned them; exits with 1 where
// ranks disagree or data are wrong.
#include "fault/injection.h"

#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/harness.h"

using namespace injection;

namespace {

std::vector<int> row_values(int shift) {
  std::vector<int> values(static_cast<size_t>(columns));
  for (MPI_Offset i = 0; i < columns; ++i) {
    values[static_cast<size_t>(i)] = value_of(rank, i) + shift;
  }
  return values;
}

void prepare(const char* path) {
  int id = -1;
  int dims[2] = {};
  int record_dims[2] = {};
  int var = -1;
  ok(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id), "create");
  ok(ncmpi_def_dim(id, "row", size, &dims[0]), "def_dim");
  ok(ncmpi_def_dim(id, "column", columns, &dims[1]), "def_dim");
  ok(ncmpi_def_dim(id, "time", NC_UNLIMITED, &record_dims[0]), "def_dim");
  record_dims[1] = dims[1];
  ok(ncmpi_def_var(id, "keep", NC_INT, 2, dims, &var), "def_var");
  ok(ncmpi_def_var(id, "change", NC_INT, 2, dims, &var), "def_var");
  ok(ncmpi_def_var(id, "grow", NC_INT, 2, record_dims, &var), "def_var");
  ok(ncmpi_enddef(id), "enddef");
  const MPI_Offset start[2] = {rank, 0};
  const MPI_Offset count[2] = {1, columns};
  for (int v = 0; v < 3; ++v) {
    ok(ncmpi_put_vara_int_all(id, v, start, count, row_values(0).data()), "put");
  }
  ok(ncmpi_close(id), "close");
}

void write(const char* path) {
  int id = -1;
  if (!ok(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &id), "open")) return;
  const MPI_Offset start[2] = {rank, 0};
  const MPI_Offset next[2] = {size + rank, 0};
  const MPI_Offset count[2] = {1, columns};
  const std::vector<int> values = row_values(5);
  ok(ncmpi_put_vara_int_all(id, 1, start, count, values.data()), "put_vara_all");
  int requests[2] = {NC_REQ_NULL, NC_REQ_NULL};
  ncmpi_iput_vara_int(id, 1, start, count, values.data(), &requests[0]);
  ncmpi_iput_vara_int(id, 2, next, count, values.data(), &requests[1]);
  ok(ncmpi_wait_all(id, 2, requests, nullptr), "wait_all");
  ok(ncmpi_sync(id), "sync");
  ok(ncmpi_close(id), "close");
}

void redefine(const char* path) {
  int id = -1;
  if (!ok(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &id), "open")) return;
  ok(ncmpi_redef(id), "redef");
  const std::string text(3000, 'x');
  ok(ncmpi_put_att_text(id, NC_GLOBAL, "long", 3000, text.c_str()), "put_att");
  int var = -1;
  const int dim = 1;
  ok(ncmpi_def_var(id, "added", NC_DOUBLE, 1, &dim, &var), "def_var");
  ok(ncmpi_def_var_fill(id, var, 0, nullptr), "def_var_fill");
  ok(ncmpi_enddef(id), "enddef");
  ok(ncmpi_close(id), "close");
}

void read(const char* path) {
  int id = -1;
  if (!ok(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &id), "open")) return;
  const MPI_Offset start[2] = {(rank + 1) % size, 0};
  const MPI_Offset count[2] = {1, columns};
  std::vector<int> got(static_cast<size_t>(columns));
  ok(ncmpi_get_vara_int_all(id, 0, start, count, got.data()), "get_vara_all");
  int request = NC_REQ_NULL;
  ncmpi_iget_vara_int(id, 2, start, count, got.data(), &request);
  ok(ncmpi_wait_all(id, 1, &request, nullptr), "wait_all");
  ok(ncmpi_close(id), "close");
}

// What no call touched is what it was.
void check(const char* path) {
  int id = -1;
  if (!ok(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &id), "open")) {
    wrong = true;
    return;
  }
  std::vector<int> got(static_cast<size_t>(size * columns));
  ok(ncmpi_get_var_int_all(id, 0, got.data()), "get_var");
  for (MPI_Offset r = 0; r < size; ++r) {
    for (MPI_Offset c = 0; c < columns; ++c) {
      const int value = got[static_cast<size_t>(r * columns + c)];
      if (value == value_of(r, c) || wrong) continue;
      std::printf("keep(%lld,%lld) is %d, expected %d\n", static_cast<long long>(r),
                  static_cast<long long>(c), value, value_of(r, c));
      wrong = true;
    }
  }
  MPI_Offset records = 0;
  ok(ncmpi_inq_dimlen(id, 2, &records), "inq_dimlen");
  if (records != size && records != 2 * size) wrong = true;
  ok(ncmpi_close(id), "close");
  if (!seen.empty()) wrong = true;
}

// All of what `write` put is there.
void written(const char* path) {
  check(path);
  int id = -1;
  if (wrong || !ok(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &id), "open"))
    return;
  const std::vector<int> values = row_values(5);
  for (const int var : {1, 2}) {
    const MPI_Offset start[2] = {var == 1 ? rank : size + rank, 0};
    const MPI_Offset count[2] = {1, columns};
    std::vector<int> got(static_cast<size_t>(columns));
    ok(ncmpi_get_vara_int_all(id, var, start, count, got.data()), "get_vara_all");
    if (got == values) continue;
    std::printf("rank %d: what was put into variable %d is not there\n", rank, var);
    wrong = true;
  }
  ok(ncmpi_close(id), "close");
  wrong = wrong || !seen.empty();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string what = argc == 3 || argc == 4 ? argv[1] : "";
  if (argc == 4) columns = std::atoll(argv[3]);
  forebay_test::start_watch(what.c_str(), rank, 30);
  if (what == "prepare") {
    prepare(argv[2]);
  } else if (what == "write") {
    write(argv[2]);
  } else if (what == "redefine") {
    redefine(argv[2]);
  } else if (what == "read") {
    read(argv[2]);
  } else if (what == "check") {
    check(argv[2]);
  } else if (what == "written") {
    written(argv[2]);
  } else if (what == "rewrite") {
    rewrite(argv[2]);
  } else {
    std::fprintf(stderr,
                 "usage: injection prepare|write|redefine|read|check|written|rewrite FILE "
                 "[COLUMNS]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  forebay_test::stop_watch();
  int open_files = 0;
  ncmpi_inq_files_opened(&open_files, nullptr);
  int bad = wrong || open_files != 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("codes");
    for (const int code : seen) std::printf(" %d", code);
    std::printf("\nfailed");
    for (const std::string& call : failed_calls) std::printf(" %s", call.c_str());
    std::printf("\n");
  }
  MPI_Finalize();
  return bad;
}
