// Stage burst through the C interface: when staged writes reach the file, what is served from the
// log, and what goes wrong with directories.
#include <dirent.h>
#include <pnetcdf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

// The extensions of files that this process has synced to their devices.
std::mutex synced_mutex;
std::set<std::string> synced;

/// The end of the path whose next sync by this process fails.
std::string fails_once;

std::set<std::string> take_synced() {
  const std::lock_guard lock(synced_mutex);
  return std::exchange(synced, {});
}

}  // namespace

// Replaces the C library's function, for the library under test as well.
extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
  char name[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (::readlink(link.c_str(), name, sizeof name - 1) > 0) {
    const std::lock_guard lock(synced_mutex);
    synced.insert(std::filesystem::path(name).extension());
    if (!fails_once.empty() && std::string(name).ends_with(fails_once)) {
      fails_once.clear();
      errno = EIO;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace {

std::string log_directory() { return world.path("logs"); }

Hints burst(const Hints& more = {}) {
  if (world.rank == 0) std::filesystem::create_directory(log_directory());
  MPI_Barrier(MPI_COMM_WORLD);
  Hints hints{{"nc_burst_buf", "enable"}, {"nc_burst_buf_dirname", log_directory()}};
  hints.insert(hints.end(), more.begin(), more.end());
  return hints;
}

Sample create(const Hints& more = {}) {
  return create_sample(NC_64BIT_DATA, true, Info(burst(more)));
}

int logs() {
  int n = 0;
  if (DIR* dir = ::opendir(log_directory().c_str())) {
    while (const dirent* entry = ::readdir(dir)) n += entry->d_name[0] != '.';
    ::closedir(dir);
  }
  return n;
}

int nodes() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int place = 0;
  MPI_Comm_rank(node, &place);
  MPI_Comm_free(&node);
  int n = place == 0;
  MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return n;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// What somebody who knows nothing of logs sees in the file: grid, and the number of records.
struct Seen {
  std::vector<int> grid = std::vector<int>(Sample::rows * Sample::columns, 0);
  int64_t records = 0;
};

int big_endian(const char* at) {
  const auto* b = reinterpret_cast<const unsigned char*>(at);
  return static_cast<int>(b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]);
}

Seen look(const Sample& s) {
  MPI_Offset begin = 0;
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.grid, &begin));
  std::ifstream in(world.path(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  bytes.resize(std::max<size_t>(bytes.size(), 4096), '\0');
  Seen seen;
  seen.records = big_endian(bytes.data() + 8);  // the lower half of the 64 bits at byte 4
  for (size_t i = 0; i < seen.grid.size(); ++i)
    seen.grid[i] = big_endian(bytes.data() + begin + static_cast<MPI_Offset>(4 * i));
  return seen;
}

int value(int row, int column) { return 1000 + 10 * row + column; }

// Every rank writes the rows that are its own.
std::vector<int> own_rows() {
  std::vector<int> rows;
  for (int r = world.rank; r < Sample::rows; r += world.size) rows.push_back(r);
  return rows;
}

void put_row(const Sample& s, int row, int add, bool collective) {
  const bool any = row >= 0;
  const Index start{any ? row : 0, 0};
  const Index count{any ? 1 : 0, any ? Sample::columns : 0};
  std::vector<int> data(Sample::columns);
  for (int c = 0; c < Sample::columns; ++c) data[static_cast<size_t>(c)] = value(row, c) + add;
  EXPECT_OK(collective
                ? ncmpi_put_vara_int_all(s.ncid, s.grid, start.data(), count.data(), data.data())
                : ncmpi_put_vara_int(s.ncid, s.grid, start.data(), count.data(), data.data()));
}

void put_grid(const Sample& s, int add = 0) {
  for (int first = 0; first < Sample::rows; first += world.size) {
    const int row = first + world.rank;
    put_row(s, row < Sample::rows ? row : -1, add, true);
  }
}

std::vector<int> expected_grid(int add = 0) {
  std::vector<int> grid;
  for (int r = 0; r < Sample::rows; ++r) {
    for (int c = 0; c < Sample::columns; ++c) grid.push_back(value(r, c) + add);
  }
  return grid;
}

void finish(const Sample& s) {
  EXPECT_OK(ncmpi_close(s.ncid));
  EXPECT_EQ(0, logs());
  EXPECT_TRUE(!exists(world.path() + ".staging"));
}

}  // namespace

TEST(Burst, writes_wait_in_logs_until_a_flush) {
  const Sample s = create();
  EXPECT_EQ(2 * world.size, logs());
  EXPECT_TRUE(exists(world.path() + ".staging"));
  put_grid(s);
  const Index start{world.rank, 0};
  const Index count{1, Sample::columns};
  const std::vector<int> series(Sample::columns, 7);
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), series.data()));
  // Everybody knows of the records, and asking does not flush.
  EXPECT_EQ(world.size, records(s));
  MPI_Offset size = -1;
  EXPECT_OK(ncmpi_inq_put_size(s.ncid, &size));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(look(s).grid == Seen{}.grid);
  EXPECT_EQ(0, look(s).records);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_OK(ncmpi_flush(s.ncid));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(look(s).grid == expected_grid());
  EXPECT_EQ(world.size, look(s).records);
  finish(s);
}

TEST(Burst, sync_redef_and_close_flush) {
  Sample s = create();
  put_grid(s, 1);
  EXPECT_OK(ncmpi_sync(s.ncid));
  EXPECT_TRUE(look(s).grid == expected_grid(1));
  MPI_Barrier(MPI_COMM_WORLD);
  put_grid(s, 2);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(look(s).grid == expected_grid(1));
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_TRUE(look(s).grid == expected_grid(2));
  int added = -1;
  EXPECT_OK(ncmpi_def_var(s.ncid, "added", NC_DOUBLE, 1, &s.x, &added));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  put_grid(s, 3);
  finish(s);
  int ncid = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid));
  std::vector<int> grid(Sample::rows * Sample::columns);
  EXPECT_OK(ncmpi_get_var_int_all(ncid, s.grid, grid.data()));
  EXPECT_TRUE(grid == expected_grid(3));
  EXPECT_OK(ncmpi_close(ncid));
}

// Otherwise a power failure could bring back what the logs held before the sync.
TEST(Burst, sync_waits_for_logs_that_dropped_writes) {
  const Sample s = create();
  for (const bool alone : {false, true}) {
    put_grid(s);
    take_synced();
    if (alone) {
      EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
      EXPECT_OK(ncmpi_flush(s.ncid));  // by each rank, and without a sync
      EXPECT_OK(ncmpi_end_indep_data(s.ncid));
      EXPECT_EQ(0U, take_synced().count(".records"));
    }
    EXPECT_OK(ncmpi_sync(s.ncid));
    const std::set<std::string> first = take_synced();
    const bool has_written = !alone || world.rank < Sample::rows;
    EXPECT_EQ(has_written ? 1U : 0U, first.count(".records"));
    EXPECT_EQ(has_written ? 1U : 0U, first.count(".data"));
    EXPECT_EQ(world.rank == 0 ? 1U : 0U, first.count(".staging"));
    EXPECT_OK(ncmpi_sync(s.ncid));  // nothing was dropped since
    const std::set<std::string> second = take_synced();
    EXPECT_EQ(0U, second.count(".records") + second.count(".staging"));
  }
  finish(s);
}

// The system tells of lost bytes once. The logs have them until the file is on its device.
TEST(Burst, a_failed_sync_leaves_the_logs_for_a_recovery) {
  const Sample s = create();
  put_grid(s, 1);
  if (world.rank == 0) fails_once = std::filesystem::path(world.path()).filename();
  EXPECT_ERR(NC_EWRITE, ncmpi_sync(s.ncid));
  EXPECT_TRUE(fails_once.empty());
  put_grid(s, 2);
  EXPECT_ERR(NC_EWRITE, ncmpi_sync(s.ncid));
  EXPECT_ERR(NC_EWRITE, ncmpi_flush(s.ncid));
  MPI_Offset at = 0;
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.grid, &at));
  EXPECT_ERR(NC_EWRITE, ncmpi_close(s.ncid));
  EXPECT_EQ(2 * world.size, logs());
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {  // this is what the device has lost
    std::fstream file(world.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << std::string(std::size_t{4} * Sample::rows * Sample::columns, '\1');
    EXPECT_TRUE(file.flush());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int ncid = -1;
  const Info info(burst({{"recover", "auto"}}));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, info, &ncid));
  std::vector<int> grid(Sample::rows * Sample::columns);
  EXPECT_OK(ncmpi_get_var_int_all(ncid, s.grid, grid.data()));
  EXPECT_TRUE(grid == expected_grid(2));
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_EQ(0, logs());
}

// The control file can be written again, the names of a folder cannot.
TEST(Burst, a_failed_sync_of_what_lies_beside_the_file_is_repeated_where_that_helps) {
  for (const bool folder : {false, true}) {
    const Sample s = create();
    put_grid(s);
    if (world.rank == 0) fails_once = folder ? ".logs" : ".staging";
    EXPECT_ERR(NC_EWRITE, ncmpi_sync(s.ncid));
    EXPECT_TRUE(fails_once.empty());
    put_grid(s, 1);
    EXPECT_ERR(folder ? NC_EWRITE : NC_NOERR, ncmpi_sync(s.ncid));
    finish(s);
  }
}

TEST(Burst, a_rank_reads_what_it_staged_without_a_flush) {
  const Sample s = create();
  put_grid(s, 5);
  put_grid(s, 0);  // later writes win
  for (int first = 0; first < Sample::rows; first += world.size) {
    const int row = first + world.rank;
    const bool any = row < Sample::rows;
    const Index start{any ? row : 0, 1};
    const Index count{any ? 1 : 0, any ? 3 : 0};
    const Index stride{1, 2};
    short data[3] = {};
    EXPECT_OK(
        ncmpi_get_vars_short_all(s.ncid, s.grid, start.data(), count.data(), stride.data(), data));
    for (int i = 0; any && i < 3; ++i) EXPECT_EQ(value(row, 1 + 2 * i), data[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(look(s).grid == Seen{}.grid);
  MPI_Barrier(MPI_COMM_WORLD);
  // Somebody else's rows need a flush, which the read makes.
  std::vector<int> grid(Sample::rows * Sample::columns);
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, grid.data()));
  EXPECT_TRUE(grid == expected_grid());
  if (world.size > 1) {
    EXPECT_TRUE(look(s).grid == expected_grid());
  }
  finish(s);
}

TEST(Burst, staged_data_lies_over_the_file_s_in_independent_reads) {
  const Sample s = create();
  put_grid(s);
  EXPECT_OK(ncmpi_flush(s.ncid));
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  const auto rows = own_rows();
  for (const int row : rows) {
    const Index start{row, 2};
    const Index count{1, 2};
    const int data[2] = {-1, -2};
    EXPECT_OK(ncmpi_put_vara_int(s.ncid, s.grid, start.data(), count.data(), data));
    const Index all{row, 0};
    const Index width{1, Sample::columns};
    int back[Sample::columns] = {};
    EXPECT_OK(ncmpi_get_vara_int(s.ncid, s.grid, all.data(), width.data(), back));
    for (int c = 0; c < Sample::columns; ++c)
      EXPECT_EQ(c == 2 ? -1 : c == 3 ? -2 : value(row, c), back[c]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(look(s).grid == expected_grid());
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  EXPECT_TRUE(look(s).grid == expected_grid());
  finish(s);
}

TEST(Burst, what_is_written_after_a_record_was_filled_stays) {
  constexpr MPI_Offset length = 3000;
  for (const char* layout : {"canonical", "chunked"}) {
    int ncid = -1, dims[2], var = -1;
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA,
                           Info(burst({{"layout", layout}})), &ncid));
    EXPECT_OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
    EXPECT_OK(ncmpi_def_dim(ncid, "x", length, &dims[1]));
    EXPECT_OK(ncmpi_def_var(ncid, "v", NC_INT, 2, dims, &var));
    const int fill = -1;
    EXPECT_OK(ncmpi_def_var_fill(ncid, var, 0, &fill));
    EXPECT_OK(ncmpi_enddef(ncid));
    EXPECT_OK(ncmpi_fill_var_rec(ncid, var, 2));
    // All of it by the first rank: each rank has filled a part.
    const Index start = {2, 0};
    const Index count = {world.rank == 0 ? 1 : 0, length};
    std::vector<int> values(length), got(length);
    std::iota(values.begin(), values.end(), 0);
    EXPECT_OK(ncmpi_put_vara_int_all(ncid, var, start.data(), count.data(), values.data()));
    EXPECT_OK(ncmpi_flush(ncid));
    const Index whole = {1, length};
    EXPECT_OK(ncmpi_get_vara_int_all(ncid, var, start.data(), whole.data(), got.data()));
    EXPECT_TRUE(values == got);
    EXPECT_OK(ncmpi_close(ncid));
  }
}

TEST(Burst, a_rank_alone_flushes_its_own) {
  const Sample s = create();
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  for (const int row : own_rows()) put_row(s, row, 0, false);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_flush(s.ncid));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const Seen seen = look(s);
  for (int r = 0; r < Sample::rows; ++r)
    EXPECT_EQ(r % world.size == 0 ? value(r, 0) : 0,
              seen.grid[static_cast<size_t>(r * Sample::columns)]);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  finish(s);
}

TEST(Burst, the_background_thread_flushes_what_is_due) {
  const Sample s = create({{"burst_flush_size", "1"}});
  put_grid(s);
  bool there = false;
  for (int i = 0; i < 500 && !there; ++i) {
    there = look(s).grid == expected_grid();
    if (!there) ::usleep(10000);
  }
  EXPECT_TRUE(there);
  MPI_Barrier(MPI_COMM_WORLD);
  put_grid(s, 4);
  EXPECT_OK(ncmpi_sync(s.ncid));
  EXPECT_TRUE(look(s).grid == expected_grid(4));
  finish(s);
}

TEST(Burst, time_alone_makes_staged_writes_due) {
  const Sample s = create({{"burst_flush_time", "1"}});
  put_grid(s);
  bool there = false;
  for (int i = 0; i < 1000 && !there; ++i) {
    there = look(s).grid == expected_grid();
    if (!there) ::usleep(10000);
  }
  EXPECT_TRUE(there);
  MPI_Barrier(MPI_COMM_WORLD);
  finish(s);
}

TEST(Burst, one_pair_of_logs_a_node) {
  const Sample s = create({{"nc_burst_buf_shared_logs", "enable"}});
  EXPECT_EQ(2 * nodes(), logs());
  put_grid(s);
  put_grid(s, 9);
  EXPECT_OK(ncmpi_sync(s.ncid));
  EXPECT_TRUE(look(s).grid == expected_grid(9));
  finish(s);
}

TEST(Burst, logs_stay_if_they_shall) {
  if (world.rank == 0) std::filesystem::remove_all(log_directory());  // an earlier run's
  const Sample s = create({{"nc_burst_buf_del_on_close", "disable"}});
  put_grid(s);
  EXPECT_OK(ncmpi_close(s.ncid));
  EXPECT_EQ(2 * world.size, logs());
  EXPECT_TRUE(!exists(world.path() + ".staging"));
  // They are of a dataset that was closed, and in nobody's way.
  int ncid = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, Info(burst()), &ncid));
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Burst, a_rank_s_error_is_its_own) {
  const Sample s = create();
  const int last = world.size - 1;
  const Index start{world.rank == last ? Sample::rows + 5 : 0, 0};
  const Index count{1, Sample::columns};
  const std::vector<int> data(Sample::columns, 3);
  const int code = ncmpi_put_vara_int_all(s.ncid, s.grid, start.data(), count.data(), data.data());
  EXPECT_EQ(world.rank == last ? NC_EINVALCOORDS : NC_NOERR, code);
  EXPECT_OK(ncmpi_sync(s.ncid));
  if (world.size > 1) {
    EXPECT_EQ(3, look(s).grid[0]);
  }
  finish(s);
}

TEST(Burst, inquiries_tell_the_hints) {
  const Sample s = create({{"nc_burst_buf_flush_buffer_size", "3000000"}});
  MPI_Info used = MPI_INFO_NULL;
  EXPECT_OK(ncmpi_inq_file_info(s.ncid, &used));
  const auto hint = [&](const char* key) {
    char text[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_Info_get(used, key, MPI_MAX_INFO_VAL, text, &found);
    return std::string(found ? text : "(none)");
  };
  EXPECT_EQ(std::string("enable"), hint("nc_burst_buf"));
  EXPECT_EQ(std::string("burst"), hint("stage"));
  EXPECT_EQ(std::string("3000000"), hint("nc_burst_buf_flush_buffer_size"));
  EXPECT_EQ(log_directory(), hint("nc_burst_buf_dirname"));
  MPI_Info_free(&used);
  finish(s);
}

TEST(Burst, a_directory_that_is_not_there_is_told_at_once) {
  int ncid = -1;
  const Info info({{"stage", "burst"}, {"nc_burst_buf_dirname", world.path("nowhere")}});
  EXPECT_EQ(NC_ENOENT, ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &ncid));
  EXPECT_TRUE(!exists(world.path()));
  EXPECT_TRUE(!exists(world.path() + ".staging"));
}

TEST(Burst, a_dataset_is_staged_by_one_job_at_a_time) {
  const Sample s = create();
  put_grid(s);
  int other = -1;
  EXPECT_EQ(NC_EPERM,
            ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, Info(burst()), &other));
  EXPECT_EQ(NC_EPERM,
            ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, MPI_INFO_NULL, &other));
  // Looking on is allowed, and shows what was flushed.
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &other));
  EXPECT_OK(ncmpi_close(other));
  EXPECT_OK(ncmpi_sync(s.ncid));
  EXPECT_TRUE(look(s).grid == expected_grid());
  finish(s);
}

TEST(Burst, abort_drops_a_new_file_with_its_logs) {
  const Sample s = create_sample(NC_64BIT_DATA, false, Info(burst()));
  EXPECT_OK(ncmpi_abort(s.ncid));
  EXPECT_EQ(0, logs());
  EXPECT_TRUE(!exists(world.path()));
  EXPECT_TRUE(!exists(world.path() + ".staging"));
}

// As PnetCDF's burst buffer does: it converts when it flushes.
TEST(Burst, a_value_out_of_range_is_told_by_the_next_flush) {
  const Sample s = create();
  const signed char zeros[6] = {};
  EXPECT_OK(ncmpi_put_var_schar_all(s.ncid, s.tiny, zeros));
  const int big = world.rank == 0 ? 300 : 1;
  // No other rank writes where rank 0 does.
  const MPI_Offset start = world.rank < Sample::columns ? world.rank : 1;
  const int mine = world.rank == 0 ? NC_ERANGE : NC_NOERR;
  EXPECT_OK(ncmpi_put_var1_int_all(s.ncid, s.tiny, &start, &big));
  EXPECT_ERR(mine, ncmpi_flush(s.ncid));
  EXPECT_OK(ncmpi_flush(s.ncid));
  EXPECT_OK(ncmpi_put_var1_int_all(s.ncid, s.tiny, &start, &big));
  EXPECT_ERR(mine, ncmpi_sync(s.ncid));
  EXPECT_OK(ncmpi_iput_var1_int(s.ncid, s.tiny, &start, &big, nullptr));
  EXPECT_ERR(mine, ncmpi_wait_all(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  // Not by redef, where a rank that stayed behind would wait for ever for the others.
  EXPECT_OK(ncmpi_put_var1_int_all(s.ncid, s.tiny, &start, &big));
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  signed char got[6] = {};
  EXPECT_OK(ncmpi_get_var_schar_all(s.ncid, s.tiny, got));
  EXPECT_EQ(-127, static_cast<int>(got[0]));
  if (world.size > 1) {
    EXPECT_EQ(1, static_cast<int>(got[1]));
  }
  EXPECT_ERR(mine, ncmpi_close(s.ncid));
}
