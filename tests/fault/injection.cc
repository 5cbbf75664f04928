// Writes and reads a file while one system call of one rank is made to fail.
//
// Usage: injection prepare|write|redefine|read|check|written|partly|rewrite FILE [COLUMNS]
//        injection sweep PHASE[,check] ORIGINAL FILE CALL:rank=R:errno=E MOST [COLUMNS]
//
// The library's test hook (the environment variable FOREBAY_FAULT) decides which call fails; see
// run_injection.py, which walks it over every call of every rank. Every collective call must return
// the same code on every rank, and nothing may hang. Prints "failed CALL..." with the collective
// calls that returned an error; exits with 1 where ranks disagree or data are wrong.
//
// A sweep makes the first, second, ... call fail, each in a phase on a copy of ORIGINAL, until
// three in a row saw no error (which rank makes a call is not always the same), MOST at most, and
// ends with the first that went wrong. Without FOREBAY_TEST_FULL it takes one in five calls of the
// phase rewrite. It prints "call N codes A B C..." for each; FOREBAY_FAULT
// must be set, to anything.
#include "fault/injection.h"

#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/cases.h"
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

// What no call touched is what it was. `partly`: some ranks' records of a call that failed may be
// there.
void check_what_stays(const char* path, bool partly) {
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
  const bool between = partly && records > size && records < 2 * size;
  if (records != size && records != 2 * size && !between) {
    std::printf("rank %d: there are %lld records\n", rank, static_cast<long long>(records));
    wrong = true;
  }
  ok(ncmpi_close(id), "close");
  if (!seen.empty()) wrong = true;
}

void check(const char* path) { check_what_stays(path, false); }

// Each rank's log is replayed for itself.
void partly(const char* path) { check_what_stays(path, true); }

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

bool run(const std::string& phase, const char* path) {
  static const std::map<std::string, void (*)(const char*)> phases = {
      {"prepare", prepare}, {"write", write},     {"redefine", redefine}, {"read", read},
      {"check", check},     {"written", written}, {"partly", partly},     {"rewrite", rewrite}};
  const auto found = phases.find(phase);
  if (found != phases.end()) found->second(path);
  return found != phases.end();
}

// On all ranks: whether any saw something wrong or has files left open.
bool anything_wrong() {
  int open_files = 0;
  ncmpi_inq_files_opened(&open_files, nullptr);
  int bad = wrong || open_files != 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return bad != 0;
}

bool sweep(const std::string& phases, const char* original, const char* path,
           const std::string& fault, int most) {
  const std::string phase = phases.substr(0, phases.find(','));
  const auto cut = fault.find(':');
  bool known = true, bad = false;
  const auto is_told = [&](long number) {
    if (number > most || !known || bad) return false;
    const std::string plan =
        fault.substr(0, cut) + ":call=" + std::to_string(number) + fault.substr(cut);
    if (rank == 0)
      std::filesystem::copy_file(original, path, std::filesystem::copy_options::overwrite_existing);
    MPI_Barrier(MPI_COMM_WORLD);
    seen.clear();
    forebay_test::start_watch(plan.c_str(), rank, 30);
    setenv("FOREBAY_FAULT", plan.c_str(), 1);
    known = run(phase, path);
    setenv("FOREBAY_FAULT", "none", 1);
    const std::vector<int> codes = seen;
    if (phases.ends_with(",check")) {
      seen.clear();
      check(path);
    }
    forebay_test::stop_watch();
    bad = anything_wrong();
    if (rank == 0) {
      std::printf("call %ld codes", number);
      for (const int code : codes) std::printf(" %d", code);
      std::printf("\n");
    }
    return !codes.empty();
  };
  constexpr int patience = 3;  // not every call that fails is an error
  if (phase == "rewrite") {    // the others make few calls
    forebay_test::try_places(1, 1, is_told, patience);
  } else {
    for (int number = 1, quiet = 0; quiet < patience && !bad; ++number)
      quiet = is_told(number) ? 0 : quiet + 1;
  }
  return known;
}

int usage() {
  std::fprintf(
      stderr,
      "usage: injection prepare|write|redefine|read|check|written|partly|rewrite FILE [COLUMNS]\n"
      "       injection sweep PHASE[,check] ORIGINAL FILE CALL:rank=R:errno=E MOST [COLUMNS]\n");
  return MPI_Abort(MPI_COMM_WORLD, 2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool sweeps = argc > 1 && std::string(argv[1]) == "sweep";
  const int least = sweeps ? 7 : 3;
  if (argc != least && argc != least + 1) return usage();
  if (argc > least) columns = std::atoll(argv[least]);
  if (sweeps) {
    if (!sweep(argv[2], argv[3], argv[4], argv[5], std::atoi(argv[6]))) return usage();
  } else {
    forebay_test::start_watch(argv[1], rank, 30);
    if (!run(argv[1], argv[2])) return usage();
    forebay_test::stop_watch();
  }
  const bool bad = anything_wrong();
  if (rank == 0 && !sweeps) {
    std::printf("failed");
    for (const std::string& call : failed_calls) std::printf(" %s", call.c_str());
    std::printf("\n");
  }
  MPI_Finalize();
  return bad ? 1 : 0;
}
