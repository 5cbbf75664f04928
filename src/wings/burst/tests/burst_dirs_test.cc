// Stage `burst` and what happens to its directory: it is missing or no directory, its files are
// removed, two datasets or two jobs share it.
#include <mpi.h>
#include <pnetcdf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/harness.h"

using namespace forebay_test;

namespace {

namespace fs = std::filesystem;
constexpr MPI_Offset columns = 4000;

class Info {
 public:
  explicit Info(const std::string& logs) {
    MPI_Info_create(&info_);
    set("stage", "burst");
    set("nc_burst_buf_dirname", logs);
  }
  ~Info() { MPI_Info_free(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  void set(const char* key, const std::string& value) { MPI_Info_set(info_, key, value.c_str()); }
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

// An empty directory beside the test's file.
std::string directory(const std::string& name) {
  const std::string path = world.path(name);
  if (world.rank == 0) {
    fs::remove_all(path);
    fs::create_directory(path);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return path;
}

size_t files_in(const std::string& path) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

int value_of(int version, int row, MPI_Offset column) {
  return version * 1000000 + row * 10000 + static_cast<int>(column);
}

int define(int id) {
  int dims[2] = {};
  int var = -1;
  EXPECT_OK(ncmpi_def_dim(id, "row", world.size, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "column", columns, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 2, dims, &var));
  EXPECT_OK(ncmpi_enddef(id));
  return var;
}

int put(int id, int version, int row, MPI_Offset first, MPI_Offset last) {
  std::vector<int> values;
  for (MPI_Offset c = first; c < last; ++c) values.push_back(value_of(version, row, c));
  const MPI_Offset start[2] = {row, first};
  const MPI_Offset count[2] = {1, last - first};
  return ncmpi_put_vara_int_all(id, 0, start, count, values.data());
}

// Columns before `middle` are of one version, the others of another.
void check(const std::string& path, int before, MPI_Offset middle, int after) {
  MPI_Barrier(MPI_COMM_WORLD);
  int id = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id));
  if (id < 0) return;
  std::vector<int> got(static_cast<size_t>(world.size) * columns);
  EXPECT_OK(ncmpi_get_var_int_all(id, 0, got.data()));
  EXPECT_OK(ncmpi_close(id));
  size_t bad = 0;
  for (int r = 0; r < world.size; ++r) {
    for (MPI_Offset c = 0; c < columns; ++c) {
      const int expected = value_of(c < middle ? before : after, r, c);
      bad += got[static_cast<size_t>(r * columns + c)] != expected ? 1 : 0;
    }
  }
  EXPECT_EQ(size_t{0}, bad);
}

void cannot_stage_there(const std::string& logs, const std::string& hint = "disable") {
  const std::string path = world.path();
  if (world.rank == 0) fs::remove(path);
  MPI_Barrier(MPI_COMM_WORLD);
  Info info(logs);
  info.set("nc_burst_buf_shared_logs", hint);
  int id = -1;
  const int code = ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, info, &id);
  // Logs may be made when the file is created or when its definitions are complete.
  if (code == NC_NOERR) {
    int dim = -1;
    int var = -1;
    ncmpi_def_dim(id, "x", 10, &dim);
    ncmpi_def_var(id, "v", NC_INT, 1, &dim, &var);
    const int later = ncmpi_enddef(id);
    EXPECT_TRUE(later != NC_NOERR);
    EXPECT_TRUE(same_on_all_ranks(later));
    ncmpi_close(id);
  }
  EXPECT_TRUE(same_on_all_ranks(code));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(!fs::exists(path + ".staging"));
  int there = -1;
  ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, MPI_INFO_NULL, &there);
  define(there);
  EXPECT_OK(put(there, 1, world.rank, 0, columns));
  EXPECT_OK(ncmpi_close(there));
  const int opened = ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_WRITE, info, &id);
  EXPECT_TRUE(opened != NC_NOERR);
  EXPECT_TRUE(same_on_all_ranks(opened));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(!fs::exists(path + ".staging"));
  check(path, 1, columns, 1);
  int open_files = -1;
  ncmpi_inq_files_opened(&open_files, nullptr);
  EXPECT_EQ(0, open_files);
}

}  // namespace

TEST(BurstDirs, a_missing_log_directory_is_an_error_on_all_ranks) {
  cannot_stage_there(world.path("nowhere"));
  cannot_stage_there(world.path("nowhere"), "enable");
}

TEST(BurstDirs, a_file_as_log_directory_is_an_error_on_all_ranks) {
  const std::string logs = world.path("plain");
  if (world.rank == 0) std::fclose(std::fopen(logs.c_str(), "w"));
  MPI_Barrier(MPI_COMM_WORLD);
  cannot_stage_there(logs);
}

TEST(BurstDirs, a_log_directory_that_takes_no_files_is_an_error_on_all_ranks) {
  cannot_stage_there("/proc/self");
}

// One rank may open one more file, and no second one.
TEST(BurstDirs, an_error_leaves_no_logs_of_other_ranks) {
  const std::string logs = directory("logs");
  const std::string path = world.path();
  Info info(logs);
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, info, &id));
  define(id);
  EXPECT_OK(ncmpi_close(id));
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  if (world.rank == world.size - 1) {
    const int next = ::dup(0);
    ::close(next);
    const rlimit tight{static_cast<rlim_t>(next) + 1, usual.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &tight);
  }
  const int code = ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_WRITE, info, &id);
  ::setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_TRUE(code != NC_NOERR);
  EXPECT_TRUE(same_on_all_ranks(code));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(size_t{0}, files_in(logs));
  EXPECT_TRUE(!fs::exists(path + ".staging"));
}

TEST(BurstDirs, logs_removed_by_somebody_lose_nothing) {
  for (const char* shared : {"disable", "enable"}) {
    const std::string logs = directory("logs");
    const std::string path = world.path();
    Info info(logs);
    info.set("nc_burst_buf_shared_logs", shared);
    int id = -1;
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, info, &id));
    define(id);
    const auto clean_up = [&] {
      MPI_Barrier(MPI_COMM_WORLD);
      if (world.rank == 0) {
        for (const auto& entry : fs::directory_iterator(logs)) fs::remove(entry.path());
      }
      MPI_Barrier(MPI_COMM_WORLD);
    };
    EXPECT_OK(put(id, 1, world.rank, 0, columns));
    clean_up();
    EXPECT_OK(put(id, 2, world.rank, 0, columns / 2));
    EXPECT_OK(ncmpi_sync(id));
    check(path, 2, columns / 2, 1);
    EXPECT_OK(put(id, 3, world.rank, 0, columns));
    clean_up();
    if (world.rank == 0) fs::remove_all(logs);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_OK(put(id, 4, world.rank, columns / 4, columns));
    EXPECT_OK(ncmpi_sync(id));
    check(path, 3, columns / 4, 4);
    EXPECT_OK(put(id, 5, world.rank, 0, columns / 3));
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_TRUE(!fs::exists(path + ".staging"));
    check(path, 5, columns / 3, 4);
  }
}

TEST(BurstDirs, datasets_of_one_name_share_a_log_directory) {
  const std::string logs = directory("logs");
  std::string paths[2];
  int ids[2] = {-1, -1};
  const Info info(logs);
  for (int i = 0; i < 2; ++i) {
    paths[i] = directory(i == 0 ? "a" : "b") + "/same.nc";
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, paths[i].c_str(), NC_CLOBBER, info, &ids[i]));
    define(ids[i]);
  }
  for (int i = 0; i < 2; ++i) EXPECT_OK(put(ids[i], 1 + i, world.rank, 0, columns));
  EXPECT_OK(ncmpi_sync(ids[0]));
  EXPECT_OK(put(ids[0], 3, world.rank, 0, columns / 2));
  EXPECT_OK(ncmpi_close(ids[0]));
  EXPECT_OK(ncmpi_close(ids[1]));
  check(paths[0], 3, columns / 2, 1);
  check(paths[1], 2, columns, 2);
  EXPECT_EQ(size_t{0}, files_in(logs));
}

// Every rank is a job of its own.
TEST(BurstDirs, a_second_job_that_stages_into_a_file_is_refused) {
  const std::string logs = directory("logs");
  const std::string path = world.path();
  const Info info(logs);
  int id = -1;
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_create(MPI_COMM_SELF, path.c_str(), NC_CLOBBER, info, &id));
    int dims[2] = {};
    int var = -1;
    ncmpi_def_dim(id, "row", world.size, &dims[0]);
    ncmpi_def_dim(id, "column", columns, &dims[1]);
    ncmpi_def_var(id, "v", NC_INT, 2, dims, &var);
    EXPECT_OK(ncmpi_enddef(id));
    for (int row = 0; row < world.size; ++row) EXPECT_OK(put(id, 1, row, 0, columns));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int other = -1;
  EXPECT_ERR(NC_EPERM, ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_WRITE, info, &other));
  EXPECT_ERR(NC_EPERM, ncmpi_create(MPI_COMM_SELF, path.c_str(), NC_CLOBBER, info, &other));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_EQ(size_t{2}, files_in(logs));
    EXPECT_OK(ncmpi_close(id));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  check(path, 1, columns, 1);
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_WRITE, info, &id));
  EXPECT_OK(put(id, 2, world.rank, 0, columns / 2));
  EXPECT_OK(ncmpi_close(id));
  check(path, 2, columns / 2, 1);
}
