// Writes versions into a file, in the layout that hints choose (chunked, patches, decomposed),
// until it is killed, and tells what a file holds.
//
// Usage: kill_chunked create FILE LOG             version 0, synced
//        kill_chunked write FILE LOG FROM COUNT   versions FROM + 1 to FROM + COUNT
//        kill_chunked reopen FILE LOG FROM COUNT  the same, to be killed while it opens, too
//        kill_chunked check LIST
//        kill_chunked values FOLDER N ...         what versions hold, as FOLDER/N.VARIABLE, without
//        MPI
//
// The log tells what was under way: "pid RANK PID", "ready", "begin N", "done N", "syncing N",
// "synced N", "closing", "closed", "error ...". LIST has lines "FILE STATE LOW HIGH MODE": opened
// with chunk_state=STATE the file must show one version from LOW to HIGH and nothing else; with
// MODE `damage` it may also fail, but not show anything else. Prints "FILE STATE holds N" or "FILE
// STATE damaged CODE", and exits with 1 where a file is not as it must be. See run_kill.py.
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fault/kill_hooks.h"
#include "fault/kill_model.h"
#include "support/harness.h"

using namespace kill_test;

namespace {

int rank = 0;
int size = 1;
bool wrong = false;
int log_file = -1;

void tell(const std::string& line) {
  const std::string text = line + "\n";
  if (log_file >= 0 && ::write(log_file, text.data(), text.size()) < 0) wrong = true;
}

void tell_first(const std::string& line) {
  if (rank == 0) tell(line);
}

bool ok(int code, const std::string& what) {
  if (code == NC_NOERR) return true;
  const std::string text = "error " + what + ": " + forebay_test::error_name(code);
  tell(text);
  std::printf("rank %d: %s\n", rank, text.c_str());
  wrong = true;
  return false;
}

// This rank's share of a box: some of its columns.
bool carry_out(int id, const Operation& op, int version) {
  std::vector<std::vector<int>> data;
  std::vector<int> requests;
  for (const Box& box : op.boxes) {
    const MPI_Offset width = box.column_end - box.column;
    const MPI_Offset first = box.column + width * rank / size;
    const MPI_Offset last = box.column + width * (rank + 1) / size;
    std::vector<int> values;
    for (MPI_Offset r = box.row; r < box.row_end; ++r) {
      for (MPI_Offset c = first; c < last; ++c) values.push_back(value_of(version, box.var, r, c));
    }
    data.push_back(std::move(values));
    const MPI_Offset start[2] = {box.row, first};
    const MPI_Offset count[2] = {box.row_end - box.row, last - first};
    if (op.boxes.size() == 1) {
      return ok(ncmpi_put_vara_int_all(id, box.var, start, count, data.back().data()), "put_vara");
    }
    requests.push_back(NC_REQ_NULL);
    ok(ncmpi_iput_vara_int(id, box.var, start, count, data.back().data(), &requests.back()),
       "iput_vara");
  }
  return ok(ncmpi_wait_all(id, static_cast<int>(requests.size()), requests.data(), nullptr),
            "wait_all");
}

bool sync(int id, int version) {
  if (std::getenv("KILL_TEST_UNSYNCED") != nullptr)
    return true;  // nothing of what was stays for it
  tell_first("syncing " + std::to_string(version));
  if (!ok(ncmpi_sync(id), "sync")) return false;
  tell_first("synced " + std::to_string(version));
  return true;
}

void create(const char* path) {
  int id = -1;
  int fixed_row = -1;
  int time = -1;
  const int mode = NC_CLOBBER | NC_64BIT_DATA;
  if (!ok(ncmpi_create(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &id), "create")) return;
  ok(ncmpi_def_dim(id, "row", rows, &fixed_row), "def_dim");
  ok(ncmpi_def_dim(id, "time", NC_UNLIMITED, &time), "def_dim");
  for (const VariableInfo& info : infos) {
    int column = -1;
    int var = -1;
    ok(ncmpi_def_dim(id, (std::string(info.name) + "_x").c_str(), info.columns, &column),
       "def_dim");
    const int dims[2] = {info.is_record ? time : fixed_row, column};
    ok(ncmpi_def_var(id, info.name, info.type, 2, dims, &var), "def_var");
    ok(ncmpi_def_var_fill(id, var, 0, nullptr), "def_var_fill");
  }
  ok(ncmpi_enddef(id), "enddef");
  carry_out(id, first_operation(), 0);
  sync(id, 0);
  ok(ncmpi_close(id), "close");
}

void write(const char* path, int from, int versions, bool from_opening) {
  State state;
  while (state.version() < from) state.advance();
  int id = -1;
  if (from_opening) arm(rank);
  if (!ok(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &id), "open")) return;
  MPI_Barrier(MPI_COMM_WORLD);
  tell_first("ready");
  MPI_Barrier(MPI_COMM_WORLD);  // no rank is killed before that is there
  if (!from_opening) arm(rank);
  for (int n = from + 1; n <= from + versions && !wrong; ++n) {
    const Operation op = state.next();
    tell_first("begin " + std::to_string(n));
    if (!carry_out(id, op, n)) break;
    tell_first("done " + std::to_string(n));
    if (op.sync_after && !sync(id, n)) break;
    state.advance();
  }
  tell_first("closing");
  ok(ncmpi_close(id), "close");
  tell_first("closed");
}

// The number that a value stands for, which it may be off by KILL_TEST_BOUND; none: INT_MIN.
int nearest(double value) {
  static const char* const bound = std::getenv("KILL_TEST_BOUND");
  static const double most = bound == nullptr ? 0 : std::atof(bound);
  if (!(std::abs(value) < -static_cast<double>(INT_MIN))) return INT_MIN;
  const double whole = std::round(value);
  return std::abs(value - whole) <= most ? static_cast<int>(whole) : INT_MIN;
}

// What was read of a file.
struct Contents {
  int code = NC_NOERR;
  MPI_Offset records = 0;
  std::vector<std::vector<int>> values;
};

Contents read(const std::string& path, const std::string& chunk_state) {
  Contents found;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "chunk_state", chunk_state.c_str());
  int id = -1;
  found.code = ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, info, &id);
  MPI_Info_free(&info);
  if (found.code != NC_NOERR) return found;
  const auto note = [&](int code) {
    if (found.code == NC_NOERR) found.code = code;
  };
  note(ncmpi_inq_dimlen(id, 1, &found.records));
  for (int v = 0; v < variables; ++v) {
    const VariableInfo& known = infos[static_cast<size_t>(v)];
    const MPI_Offset count = known.is_record ? std::min<MPI_Offset>(found.records, 1000) : rows;
    found.values.emplace_back(static_cast<size_t>(count * known.columns));
    const MPI_Offset start[2] = {0, 0};
    const MPI_Offset counts[2] = {count, known.columns};
    std::vector<double> values(found.values.back().size());
    note(ncmpi_get_vara_double_all(id, v, start, counts, values.data()));
    std::transform(values.begin(), values.end(), found.values.back().begin(), nearest);
  }
  note(ncmpi_close(id));
  return found;
}

// Where the contents differ from a version; empty where they do not.
std::string difference(const Contents& found, const State& state) {
  for (int v = 0; v < variables; ++v) {
    const VariableInfo& info = infos[static_cast<size_t>(v)];
    const auto& got = found.values[static_cast<size_t>(v)];
    const auto& expected = state.values(v);
    for (size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
      if (got[i] == expected[i]) continue;
      const auto at = static_cast<MPI_Offset>(i);
      return std::string(info.name) + "(" + std::to_string(at / info.columns) + "," +
             std::to_string(at % info.columns) + ") is " + std::to_string(got[i]) + ", expected " +
             std::to_string(expected[i]);
    }
  }
  if (found.records == state.records()) return {};
  return std::to_string(found.records) + " records, expected " + std::to_string(state.records());
}

void check_one(const std::string& path, const std::string& chunk_state, int low, int high,
               bool may_fail) {
  const Contents found = read(path, chunk_state);
  const std::string what = path + " " + chunk_state;
  if (found.code != NC_NOERR) {
    if (rank == 0) {
      std::printf("%s damaged %s\n", what.c_str(), forebay_test::error_name(found.code).c_str());
    }
    wrong = wrong || !may_fail;
    return;
  }
  State state;
  std::string all;
  while (state.version() < low) state.advance();
  for (;; state.advance()) {
    const std::string differs = difference(found, state);
    if (differs.empty()) {
      if (rank == 0) std::printf("%s holds %d\n", what.c_str(), state.version());
      return;
    }
    all += "\n  not version " + std::to_string(state.version()) + ": " + differs;
    if (state.version() >= high) break;
  }
  std::printf("rank %d: %s holds none of the versions %d to %d%s\n", rank, what.c_str(), low, high,
              all.substr(0, 2000).c_str());
  wrong = true;
}

void check(const char* list) {
  std::ifstream in(list);
  std::string path;
  std::string chunk_state;
  std::string mode;
  int low = 0;
  int high = 0;
  while (in >> path >> chunk_state >> low >> high >> mode) {
    check_one(path, chunk_state, low, high, mode == "damage");
  }
}

// For readers that are not Forebay.
int print_values(const std::string& folder, int count, char** versions) {
  State state;
  for (int i = 0; i < count; ++i) {
    while (state.version() < std::atoi(versions[i])) state.advance();
    for (int v = 0; v < variables; ++v) {
      const std::string name = infos[static_cast<size_t>(v)].name;
      std::ofstream out(folder + "/" + versions[i] + "." + name, std::ios::binary);
      const auto& values = state.values(v);
      out.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(int)));
      if (!out) return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 3 && std::string(argv[1]) == "values")
    return print_values(argv[2], argc - 3, argv + 3);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string what = argc > 2 ? argv[1] : "";
  forebay_test::start_watch(what.c_str(), rank, 60);
  if (argc > 3) {
    log_file = ::open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    tell("pid " + std::to_string(rank) + " " + std::to_string(::getpid()));
    keep_durable_copies(argv[2]);
  }
  if (what == "create" && argc == 4) {
    create(argv[2]);
  } else if ((what == "write" || what == "reopen") && argc == 6) {
    write(argv[2], std::atoi(argv[4]), std::atoi(argv[5]), what == "reopen");
  } else if (what == "check" && argc == 3) {
    check(argv[2]);
  } else {
    std::fprintf(stderr, "usage: kill_chunked create|write|reopen|check ...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  forebay_test::stop_watch();
  int bad = wrong ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return bad;
}
