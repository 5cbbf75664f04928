// Stage burst through the C interface: when staged writes reach the file, what is served from the
// log, and what goes wrong with directories.
#include <dirent.h>
#include <pnetcdf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

using Hints = std::vector<std::pair<std::string, std::string>>;

class Info {
 public:
  explicit Info(const Hints& hints) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
  }
  ~Info() { MPI_Info_free(&info_); }
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

std::string log_directory(Context& t) { return t.path("logs"); }

Hints burst(Context& t, const Hints& more = {}) {
  if (t.rank() == 0) std::filesystem::create_directory(log_directory(t));
  MPI_Barrier(t.comm());
  Hints hints{{"nc_burst_buf", "enable"}, {"nc_burst_buf_dirname", log_directory(t)}};
  hints.insert(hints.end(), more.begin(), more.end());
  return hints;
}

Sample create(Context& t, const Hints& more = {}) {
  return create_sample(t, NC_64BIT_DATA, true, Info(burst(t, more)));
}

int logs(Context& t) {
  int n = 0;
  if (DIR* dir = ::opendir(log_directory(t).c_str())) {
    while (const dirent* entry = ::readdir(dir)) n += entry->d_name[0] != '.';
    ::closedir(dir);
  }
  return n;
}

int nodes(Context& t) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(t.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int place = 0;
  MPI_Comm_rank(node, &place);
  MPI_Comm_free(&node);
  int n = place == 0;
  MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, t.comm());
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

Seen look(Context& t, const Sample& s) {
  MPI_Offset begin = 0;
  CHECK_OK(ncmpi_inq_varoffset(s.ncid, s.grid, &begin));
  std::ifstream in(t.path(), std::ios::binary);
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
std::vector<int> own_rows(Context& t) {
  std::vector<int> rows;
  for (int r = t.rank(); r < Sample::rows; r += t.size()) rows.push_back(r);
  return rows;
}

void put_row(Context& t, const Sample& s, int row, int add, bool collective) {
  const bool any = row >= 0;
  const Index start{any ? row : 0, 0};
  const Index count{any ? 1 : 0, any ? Sample::columns : 0};
  std::vector<int> data(Sample::columns);
  for (int c = 0; c < Sample::columns; ++c) data[static_cast<size_t>(c)] = value(row, c) + add;
  CHECK_OK(collective
               ? ncmpi_put_vara_int_all(s.ncid, s.grid, start.data(), count.data(), data.data())
               : ncmpi_put_vara_int(s.ncid, s.grid, start.data(), count.data(), data.data()));
}

void put_grid(Context& t, const Sample& s, int add = 0) {
  for (int first = 0; first < Sample::rows; first += t.size()) {
    const int row = first + t.rank();
    put_row(t, s, row < Sample::rows ? row : -1, add, true);
  }
}

std::vector<int> expected_grid(int add = 0) {
  std::vector<int> grid;
  for (int r = 0; r < Sample::rows; ++r) {
    for (int c = 0; c < Sample::columns; ++c) grid.push_back(value(r, c) + add);
  }
  return grid;
}

void finish(Context& t, const Sample& s) {
  CHECK_OK(ncmpi_close(s.ncid));
  CHECK_EQ(0, logs(t));
  CHECK(!exists(t.path() + ".staging"));
}

}  // namespace

TEST_CASE(writes_wait_in_logs_until_a_flush) {
  const Sample s = create(t);
  CHECK_EQ(2 * t.size(), logs(t));
  CHECK(exists(t.path() + ".staging"));
  put_grid(t, s);
  const Index start{t.rank(), 0};
  const Index count{1, Sample::columns};
  const std::vector<int> series(Sample::columns, 7);
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), series.data()));
  // Everybody knows of the records, and asking does not flush.
  CHECK_EQ(t.size(), records(t, s));
  MPI_Offset size = -1;
  CHECK_OK(ncmpi_inq_put_size(s.ncid, &size));
  MPI_Barrier(t.comm());
  CHECK(look(t, s).grid == Seen{}.grid);
  CHECK_EQ(0, look(t, s).records);
  MPI_Barrier(t.comm());
  CHECK_OK(ncmpi_flush(s.ncid));
  MPI_Barrier(t.comm());
  CHECK(look(t, s).grid == expected_grid());
  CHECK_EQ(t.size(), look(t, s).records);
  finish(t, s);
}

TEST_CASE(sync_redef_and_close_flush) {
  Sample s = create(t);
  put_grid(t, s, 1);
  CHECK_OK(ncmpi_sync(s.ncid));
  CHECK(look(t, s).grid == expected_grid(1));
  MPI_Barrier(t.comm());
  put_grid(t, s, 2);
  MPI_Barrier(t.comm());
  CHECK(look(t, s).grid == expected_grid(1));
  CHECK_OK(ncmpi_redef(s.ncid));
  CHECK(look(t, s).grid == expected_grid(2));
  int added = -1;
  CHECK_OK(ncmpi_def_var(s.ncid, "added", NC_DOUBLE, 1, &s.x, &added));
  CHECK_OK(ncmpi_enddef(s.ncid));
  put_grid(t, s, 3);
  finish(t, s);
  int ncid = -1;
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid));
  std::vector<int> grid(Sample::rows * Sample::columns);
  CHECK_OK(ncmpi_get_var_int_all(ncid, s.grid, grid.data()));
  CHECK(grid == expected_grid(3));
  CHECK_OK(ncmpi_close(ncid));
}

TEST_CASE(a_rank_reads_what_it_staged_without_a_flush) {
  const Sample s = create(t);
  put_grid(t, s, 5);
  put_grid(t, s, 0);  // later writes win
  for (int first = 0; first < Sample::rows; first += t.size()) {
    const int row = first + t.rank();
    const bool any = row < Sample::rows;
    const Index start{any ? row : 0, 1};
    const Index count{any ? 1 : 0, any ? 3 : 0};
    const Index stride{1, 2};
    short data[3] = {};
    CHECK_OK(
        ncmpi_get_vars_short_all(s.ncid, s.grid, start.data(), count.data(), stride.data(), data));
    for (int i = 0; any && i < 3; ++i) CHECK_EQ(value(row, 1 + 2 * i), data[i]);
  }
  MPI_Barrier(t.comm());
  CHECK(look(t, s).grid == Seen{}.grid);
  MPI_Barrier(t.comm());
  // Somebody else's rows need a flush, which the read makes.
  std::vector<int> grid(Sample::rows * Sample::columns);
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.grid, grid.data()));
  CHECK(grid == expected_grid());
  if (t.size() > 1) CHECK(look(t, s).grid == expected_grid());
  finish(t, s);
}

TEST_CASE(staged_data_lies_over_the_file_s_in_independent_reads) {
  const Sample s = create(t);
  put_grid(t, s);
  CHECK_OK(ncmpi_flush(s.ncid));
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  const auto rows = own_rows(t);
  for (const int row : rows) {
    const Index start{row, 2};
    const Index count{1, 2};
    const int data[2] = {-1, -2};
    CHECK_OK(ncmpi_put_vara_int(s.ncid, s.grid, start.data(), count.data(), data));
    const Index all{row, 0};
    const Index width{1, Sample::columns};
    int back[Sample::columns] = {};
    CHECK_OK(ncmpi_get_vara_int(s.ncid, s.grid, all.data(), width.data(), back));
    for (int c = 0; c < Sample::columns; ++c)
      CHECK_EQ(c == 2 ? -1 : c == 3 ? -2 : value(row, c), back[c]);
  }
  MPI_Barrier(t.comm());
  CHECK(look(t, s).grid == expected_grid());
  MPI_Barrier(t.comm());
  CHECK_OK(ncmpi_end_indep_data(s.ncid));
  CHECK(look(t, s).grid == expected_grid());
  finish(t, s);
}

TEST_CASE(what_is_written_after_a_record_was_filled_stays) {
  constexpr MPI_Offset length = 3000;
  for (const char* layout : {"canonical", "chunked"}) {
    int ncid = -1, dims[2], var = -1;
    CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), NC_CLOBBER | NC_64BIT_DATA,
                          Info(burst(t, {{"layout", layout}})), &ncid));
    CHECK_OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
    CHECK_OK(ncmpi_def_dim(ncid, "x", length, &dims[1]));
    CHECK_OK(ncmpi_def_var(ncid, "v", NC_INT, 2, dims, &var));
    const int fill = -1;
    CHECK_OK(ncmpi_def_var_fill(ncid, var, 0, &fill));
    CHECK_OK(ncmpi_enddef(ncid));
    CHECK_OK(ncmpi_fill_var_rec(ncid, var, 2));
    // All of it by the first rank: each rank has filled a part.
    const Index start = {2, 0};
    const Index count = {t.rank() == 0 ? 1 : 0, length};
    std::vector<int> values(length), got(length);
    std::iota(values.begin(), values.end(), 0);
    CHECK_OK(ncmpi_put_vara_int_all(ncid, var, start.data(), count.data(), values.data()));
    CHECK_OK(ncmpi_flush(ncid));
    const Index whole = {1, length};
    CHECK_OK(ncmpi_get_vara_int_all(ncid, var, start.data(), whole.data(), got.data()));
    CHECK(values == got);
    CHECK_OK(ncmpi_close(ncid));
  }
}

TEST_CASE(a_rank_alone_flushes_its_own) {
  const Sample s = create(t);
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  for (const int row : own_rows(t)) put_row(t, s, row, 0, false);
  if (t.rank() == 0) CHECK_OK(ncmpi_flush(s.ncid));
  MPI_Barrier(t.comm());
  const Seen seen = look(t, s);
  for (int r = 0; r < Sample::rows; ++r)
    CHECK_EQ(r % t.size() == 0 ? value(r, 0) : 0,
             seen.grid[static_cast<size_t>(r * Sample::columns)]);
  MPI_Barrier(t.comm());
  CHECK_OK(ncmpi_end_indep_data(s.ncid));
  finish(t, s);
}

TEST_CASE(the_background_thread_flushes_what_is_due) {
  const Sample s = create(t, {{"burst_flush_size", "1"}});
  put_grid(t, s);
  bool there = false;
  for (int i = 0; i < 500 && !there; ++i) {
    there = look(t, s).grid == expected_grid();
    if (!there) ::usleep(10000);
  }
  CHECK(there);
  MPI_Barrier(t.comm());
  put_grid(t, s, 4);
  CHECK_OK(ncmpi_sync(s.ncid));
  CHECK(look(t, s).grid == expected_grid(4));
  finish(t, s);
}

TEST_CASE(time_alone_makes_staged_writes_due) {
  const Sample s = create(t, {{"burst_flush_time", "1"}});
  put_grid(t, s);
  bool there = false;
  for (int i = 0; i < 1000 && !there; ++i) {
    there = look(t, s).grid == expected_grid();
    if (!there) ::usleep(10000);
  }
  CHECK(there);
  MPI_Barrier(t.comm());
  finish(t, s);
}

TEST_CASE(one_pair_of_logs_a_node) {
  const Sample s = create(t, {{"nc_burst_buf_shared_logs", "enable"}});
  CHECK_EQ(2 * nodes(t), logs(t));
  put_grid(t, s);
  put_grid(t, s, 9);
  CHECK_OK(ncmpi_sync(s.ncid));
  CHECK(look(t, s).grid == expected_grid(9));
  finish(t, s);
}

TEST_CASE(logs_stay_if_they_shall) {
  if (t.rank() == 0) std::filesystem::remove_all(log_directory(t));  // an earlier run's
  const Sample s = create(t, {{"nc_burst_buf_del_on_close", "disable"}});
  put_grid(t, s);
  CHECK_OK(ncmpi_close(s.ncid));
  CHECK_EQ(2 * t.size(), logs(t));
  CHECK(!exists(t.path() + ".staging"));
  // They are of a dataset that was closed, and in nobody's way.
  int ncid = -1;
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_WRITE, Info(burst(t)), &ncid));
  CHECK_OK(ncmpi_close(ncid));
}

TEST_CASE(a_rank_s_error_is_its_own) {
  const Sample s = create(t);
  const int last = t.size() - 1;
  const Index start{t.rank() == last ? Sample::rows + 5 : 0, 0};
  const Index count{1, Sample::columns};
  const std::vector<int> data(Sample::columns, 3);
  const int code = ncmpi_put_vara_int_all(s.ncid, s.grid, start.data(), count.data(), data.data());
  CHECK_EQ(t.rank() == last ? NC_EINVALCOORDS : NC_NOERR, code);
  CHECK_OK(ncmpi_sync(s.ncid));
  if (t.size() > 1) CHECK_EQ(3, look(t, s).grid[0]);
  finish(t, s);
}

TEST_CASE(inquiries_tell_the_hints) {
  const Sample s = create(t, {{"nc_burst_buf_flush_buffer_size", "3000000"}});
  MPI_Info used = MPI_INFO_NULL;
  CHECK_OK(ncmpi_inq_file_info(s.ncid, &used));
  const auto hint = [&](const char* key) {
    char text[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_Info_get(used, key, MPI_MAX_INFO_VAL, text, &found);
    return std::string(found ? text : "(none)");
  };
  CHECK_EQ(std::string("enable"), hint("nc_burst_buf"));
  CHECK_EQ(std::string("burst"), hint("stage"));
  CHECK_EQ(std::string("3000000"), hint("nc_burst_buf_flush_buffer_size"));
  CHECK_EQ(log_directory(t), hint("nc_burst_buf_dirname"));
  MPI_Info_free(&used);
  finish(t, s);
}

TEST_CASE(a_directory_that_is_not_there_is_told_at_once) {
  int ncid = -1;
  const Info info({{"stage", "burst"}, {"nc_burst_buf_dirname", t.path("nowhere")}});
  CHECK_EQ(NC_ENOENT, ncmpi_create(t.comm(), t.path().c_str(), NC_CLOBBER, info, &ncid));
  CHECK(!exists(t.path()));
  CHECK(!exists(t.path() + ".staging"));
}

TEST_CASE(a_dataset_is_staged_by_one_job_at_a_time) {
  const Sample s = create(t);
  put_grid(t, s);
  int other = -1;
  CHECK_EQ(NC_EPERM, ncmpi_open(t.comm(), t.path().c_str(), NC_WRITE, Info(burst(t)), &other));
  CHECK_EQ(NC_EPERM, ncmpi_create(t.comm(), t.path().c_str(), NC_CLOBBER, MPI_INFO_NULL, &other));
  // Looking on is allowed, and shows what was flushed.
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &other));
  CHECK_OK(ncmpi_close(other));
  CHECK_OK(ncmpi_sync(s.ncid));
  CHECK(look(t, s).grid == expected_grid());
  finish(t, s);
}

TEST_CASE(abort_drops_a_new_file_with_its_logs) {
  const Sample s = create_sample(t, NC_64BIT_DATA, false, Info(burst(t)));
  CHECK_OK(ncmpi_abort(s.ncid));
  CHECK_EQ(0, logs(t));
  CHECK(!exists(t.path()));
  CHECK(!exists(t.path() + ".staging"));
}

// As PnetCDF's burst buffer does: it converts when it flushes.
TEST_CASE(a_value_out_of_range_is_told_by_the_next_flush) {
  const Sample s = create(t);
  const signed char zeros[6] = {};
  CHECK_OK(ncmpi_put_var_schar_all(s.ncid, s.tiny, zeros));
  const int big = t.rank() == 0 ? 300 : 1;
  // No other rank writes where rank 0 does.
  const MPI_Offset start = t.rank() < Sample::columns ? t.rank() : 1;
  const int mine = t.rank() == 0 ? NC_ERANGE : NC_NOERR;
  CHECK_OK(ncmpi_put_var1_int_all(s.ncid, s.tiny, &start, &big));
  CHECK_ERR(mine, ncmpi_flush(s.ncid));
  CHECK_OK(ncmpi_flush(s.ncid));
  CHECK_OK(ncmpi_put_var1_int_all(s.ncid, s.tiny, &start, &big));
  CHECK_ERR(mine, ncmpi_sync(s.ncid));
  CHECK_OK(ncmpi_iput_var1_int(s.ncid, s.tiny, &start, &big, nullptr));
  CHECK_ERR(mine, ncmpi_wait_all(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  // Not by redef, where a rank that stayed behind would wait for ever for the others.
  CHECK_OK(ncmpi_put_var1_int_all(s.ncid, s.tiny, &start, &big));
  CHECK_OK(ncmpi_redef(s.ncid));
  CHECK_OK(ncmpi_enddef(s.ncid));
  signed char got[6] = {};
  CHECK_OK(ncmpi_get_var_schar_all(s.ncid, s.tiny, got));
  CHECK_EQ(-127, static_cast<int>(got[0]));
  if (t.size() > 1) CHECK_EQ(1, static_cast<int>(got[1]));
  CHECK_ERR(mine, ncmpi_close(s.ncid));
}
