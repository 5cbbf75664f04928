// Writes files by all methods, and ends without closing them; or reads what is there.
//
// Usage: left_open finalize|exit|return|some DIRECTORY
//        left_open read DIRECTORY [NAME ...]     (files that may be missing)
//
// Usage: left_open thread|signal|overlap DIRECTORY
//
// finalize: MPI_Finalize; exit, return: without it, from within a function and from main; some: the
// last rank exits, and the others go on. thread, signal: exits from there, beside a call of the
// main thread, or within it, which waits for rank 0. overlap: files of some ranks each, one of
// which does not exit.
#if FOREBAY_TEST_GROUPS
#include <forebay_groups.h>
#endif
#include <mpi.h>
#include <pnetcdf.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/wings.h"

namespace {

constexpr int records = 6, width = 5;
int rank = 0, ranks = 1, failures = 0;

void check(int code, const char* what, const std::string& name) {
  if (code == NC_NOERR) return;
  ++failures;
  std::printf("rank %d: %s: %s: %s\n", rank, name.c_str(), what, ncmpi_strerrno(code));
}
#define CHECK(name, call) check(call, #call, name)

struct Method {
  std::string name;
  std::vector<std::pair<const char*, const char*>> hints;
};

const std::vector<Method> methods = {
    {"direct", {{"stage", "direct"}}},
    {"memory", {{"stage", "memory"}}},
    {"async", {{"stage", "async"}}},
    {"burst", {{"stage", "burst"}}},
    {"bundle", {{"bundle", "left"}}},
    {"chunked", {{"layout", "chunked"}, {"codec", "shuffle,zstd:1"}}},
    {"chunked_async", {{"layout", "chunked"}, {"codec", "zstd:1"}, {"stage", "async"}}},
    {"chunked_memory", {{"layout", "chunked"}, {"codec", "zstd:1"}, {"stage", "memory"}}},
    {"chunked_bundle", {{"layout", "chunked"}, {"codec", "zstd:1"}, {"bundle", "left"}}},
    {"patches", {{"layout", "patches"}}},
    {"decomposed", {{"layout", "decomposed"}}},
    {"decomposed_async", {{"layout", "decomposed"}, {"stage", "async"}}},
    {"lossy", {{"layout", "chunked"}, {"codec", "zfp:accuracy=1e-3"}, {"stage", "memory"}}},
    {"lossy_sz3", {{"layout", "chunked"}, {"codec", "sz3:abs=1e-3"}, {"stage", "memory"}}},
    {"directory", {{"container", "directory"}, {"layout", "chunked"}, {"codec", "zstd:1"}}},
    {"independent_io", {{"transport", "independent"}, {"stage", "memory"}}},
    {"collective_io", {{"transport", "collective"}, {"stage", "memory"}}},
};

std::string path_of(const std::string& directory, const std::string& name) {
  return directory + "/" + name + ".nc";
}

int value_of(int record, int of_rank, int i) { return 1000 * record + 10 * of_rank + i + 1; }

int create(const std::string& directory, const Method& method, MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (const auto& [key, value] : method.hints) MPI_Info_set(info, key, value);
  int id = -1;
  CHECK(method.name,
        ncmpi_create(comm, path_of(directory, method.name).c_str(), NC_CLOBBER, info, &id));
  MPI_Info_free(&info);
  return id;
}

/// Returns the ID of the file, which is open.
int write(const std::string& directory, const Method& method, MPI_Comm comm = MPI_COMM_WORLD) {
  const int id = create(directory, method, comm);
  int dims[2] = {-1, -1}, var = -1, across = 1;
  MPI_Comm_size(comm, &across);
  const bool alone = method.name == "alone", apart = method.name == "apart";
  const bool lossy = method.name.starts_with("lossy");
  CHECK(method.name, ncmpi_def_dim(id, "t", NC_UNLIMITED, &dims[0]));
  CHECK(method.name, ncmpi_def_dim(id, "x", MPI_Offset{across} * width, &dims[1]));
  CHECK(method.name, ncmpi_def_var(id, "v", lossy ? NC_FLOAT : NC_INT, 2, dims, &var));
  const float missing = -9999;
  if (lossy)
    CHECK(method.name, ncmpi_put_att_float(id, var, "missing_value", NC_FLOAT, 1, &missing));
  if (method.name == "defining") return id;
  CHECK(method.name, ncmpi_enddef(id));
  if (apart) CHECK(method.name, ncmpi_begin_indep_data(id));
  for (int record = 0; record < records; ++record) {
    int values[width];
    for (int i = 0; i < width; ++i) values[i] = value_of(record, rank, i);
    const MPI_Offset start[] = {record, alone ? 0 : MPI_Offset{rank} * width}, count[] = {1, width};
    if (lossy) {
      std::vector<float> between(values, values + width);
      for (float& value : between) value += 0.5F;  // whose error does not reach another integer
      CHECK(method.name, ncmpi_put_vara_float_all(id, var, start, count, between.data()));
    } else {
      CHECK(method.name, apart ? ncmpi_put_vara_int(id, var, start, count, values)
                               : ncmpi_put_vara_int_all(id, var, start, count, values));
    }
    // What the codec is made of is there before the process exits.
    if (lossy && record == records / 2) CHECK(method.name, ncmpi_sync(id));
  }
  if (method.name == "pending") {
    const MPI_Offset start[] = {0, 0}, count[] = {1, 1};
    const int zero = 0;
    CHECK(method.name, ncmpi_iput_vara_int(id, var, start, count, &zero, nullptr));
  }
  return id;
}

void read(const std::string& directory, const Method& method) {
  int id = -1, var = -1;
  MPI_Offset length = 0;
  CHECK(method.name, ncmpi_open(MPI_COMM_WORLD, path_of(directory, method.name).c_str(), NC_NOWRITE,
                                MPI_INFO_NULL, &id));
  if (id < 0) return;
  CHECK(method.name, ncmpi_inq_varid(id, "v", &var));
  CHECK(method.name, ncmpi_inq_dimlen(id, 0, &length));
  const int there = method.name == "defining" ? 0 : records;
  if (length != there) {
    ++failures;
    std::printf("%s has %d of %d records\n", method.name.c_str(), static_cast<int>(length), there);
  }
  const int from = (rank + 1) % ranks;  // what another rank wrote
  for (int record = 0; record < length; ++record) {
    int values[width] = {};
    const MPI_Offset start[] = {record, MPI_Offset{from} * width}, count[] = {1, width};
    CHECK(method.name, ncmpi_get_vara_int_all(id, var, start, count, values));
    for (int i = 0; i < width; ++i) {
      if (values[i] == value_of(record, from, i)) continue;
      ++failures;
      std::printf("%s: record %d of rank %d has %d at %d\n", method.name.c_str(), record, from,
                  values[i], i);
      break;
    }
  }
  CHECK(method.name, ncmpi_close(id));
}

#if FOREBAY_TEST_GROUPS
// Groups: process groups that a thread writes, and records.
const char* const group_files[][2] = {{"groups.bp", "stage=async"}, {"groups.nc", "stage=memory"}};

/// Returns the number of the last file, which is open.
int write_groups(const std::string& directory) {
  int file = -1;
  CHECK("groups", forebay_init(nullptr, MPI_COMM_WORLD));
  for (const auto& [name, hints] : group_files) {
    CHECK(name, forebay_define_group(name, "C"));
    CHECK(name, forebay_define_var(name, "v", "integer", "5", nullptr, nullptr, nullptr));
    CHECK(name, forebay_define_method(name, hints));
    CHECK(name, forebay_open(&file, name, (directory + "/" + name).c_str(), "w", MPI_COMM_WORLD));
    for (int record = 0; record < records; ++record) {
      const int values[width] = {record, rank};
      CHECK(name, forebay_write(file, "v", values));
      CHECK(name, forebay_end_step(file));
    }
  }
  return file;
}

void read_groups(const std::string& directory) {
  for (const auto& [name, hints] : group_files) {
    int file = -1;
    int64_t steps = -1;
    CHECK(name,
          forebay_open(&file, nullptr, (directory + "/" + name).c_str(), "r", MPI_COMM_WORLD));
    CHECK(name, forebay_inq_steps(file, &steps));
    CHECK(name, forebay_close(file));
    if (steps == records) continue;
    ++failures;
    std::printf("%s has %d of %d steps\n", name, static_cast<int>(steps), records);
  }
}

#else
int write_groups(const std::string&) { return -1; }
void read_groups(const std::string&) {}
int forebay_end_step(int) { return NC_EBADID; }
#endif

[[noreturn]] void exit_from_elsewhere(const std::string& how, const std::string& directory) {
  const int id = write(directory, {"held", {{"stage", "memory"}}});
  MPI_Barrier(MPI_COMM_WORLD);
  if (how == "signal") {
    ::signal(SIGALRM, [](int) { std::exit(0); });
    if (rank != 0) ::alarm(1);
  } else if (rank != 0) {
    std::thread([] {
      ::sleep(1);
      std::exit(0);
    }).detach();
  }
  if (rank != 0) ncmpi_sync(id);  // waits for rank 0
  ::sleep(30);
  std::exit(1);
}

/// Of three ranks: rank 2 does not exit, and what it has no part in is written.
[[noreturn]] void exit_from_some(const std::string& directory) {
  for (const auto& [name, without] : {std::pair{"stuck", 1}, {"saved", 2}}) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank == without ? MPI_UNDEFINED : 0, rank, &comm);
    if (comm != MPI_COMM_NULL) write(directory, {name, {{"stage", "memory"}}}, comm);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) ::sleep(30);
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string how = argc > 1 ? argv[1] : "", directory = argc > 2 ? argv[2] : ".";
  std::vector<Method> all = methods;
  std::erase_if(all, [](const Method& method) {
    return !forebay_test::are_built({method.hints.begin(), method.hints.end()});
  });
  all.push_back({"apart", {{"stage", "memory"}}});
  all.push_back({"defining", {}});
  all.push_back({"pending", {{"stage", "memory"}}});
  if (how == "read") {
    // Left in define mode or with requests: closed as ncmpi_close does it, where ranks may meet.
    for (const Method& method : all) {
      bool may_be_missing = false;
      for (int i = 3; i < argc; ++i) may_be_missing |= method.name == argv[i];
      if (!may_be_missing) read(directory, method);
    }
    read_groups(directory);
    MPI_Finalize();
    return failures != 0;
  }
  if (how == "thread" || how == "signal") exit_from_elsewhere(how, directory);
  if (how == "overlap") exit_from_some(directory);
  if (how == "return") ::setenv("FOREBAY_REPORT", ("json:" + directory + "/report").c_str(), 1);
  // Some ranks have more files open than others, between the others.
  int last = -1;
  for (const Method& method : all) {
    last = write(directory, method);
    if (rank == 1 && method.name == "memory")
      write(directory, {"alone", {{"stage", "memory"}}}, MPI_COMM_SELF);
    // What reports are made of is there before the process exits.
    if (method.name == "direct") CHECK("closed", ncmpi_close(write(directory, {"closed", {}})));
  }
  const int last_group = write_groups(directory);
  std::fflush(stdout);
  if (failures != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (how == "exit") std::exit(0);
  if (how == "return") return 0;
  if (how == "some") {
    if (rank == ranks - 1) std::exit(0);
    ::sleep(30);
  }
  if (rank == 0) ::usleep(300'000);  // one comes late
  MPI_Finalize();
  const bool refused = ncmpi_sync(last) == NC_EBADID && ncmpi_close(last) == NC_EBADID &&
                       forebay_end_step(last_group) == NC_EBADID;
  return refused ? 0 : 4;
}
