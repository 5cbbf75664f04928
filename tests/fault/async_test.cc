// Stage async where writing is slow, and where it fails: with the layout that the environment
// variable TEST_LAYOUT names. FOREBAY_FAULT must be set, to anything.
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

constexpr MPI_Offset columns = 3000;  // of a rank

std::string layout() {
  const char* name = std::getenv("TEST_LAYOUT");
  return name ? name : "canonical";
}

// Tests of other layouts may run at the same time.
std::string path_of_test() { return world.path(layout() + ".nc"); }

void remove(const std::string& path) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_delete(path.c_str(), MPI_INFO_NULL));
  }
}

Info hints(const std::string& memory = "1MiB") {
  return Info({{"layout", layout()},
               {"stage", "async"},
               {"transport", "posix"},  // each rank writes what is its own
               {"async_memory", memory},
               {"chunk_bytes", "4k"},
               {"subfiling", "ranks"},
               {"subfile_ranks", "1"}});
}

// Each call of this takes a while, or fails, on a rank or (-1) all of them.
void plan(const std::string& text) {
  MPI_Barrier(MPI_COMM_WORLD);
  setenv("FOREBAY_FAULT", text.c_str(), 1);
}

int value_of(int record, MPI_Offset column) { return record * 100000 + static_cast<int>(column); }

// series(time, x) and one more, so that a call writes several variables.
int create(const std::string& path, MPI_Info info) {
  int id = -1, dims[2] = {}, var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "x", columns * world.size, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "series", NC_INT, 2, dims, &var));
  EXPECT_OK(ncmpi_def_var(id, "twice", NC_INT, 2, dims, &var));
  EXPECT_OK(ncmpi_def_var_fill(id, var, NC_FILL, nullptr));
  EXPECT_OK(ncmpi_enddef(id));
  return id;
}

// The buffers are changed behind the call, as programs may.
int put(int id, int record) {
  const MPI_Offset start[] = {record, columns * world.rank}, count[] = {1, columns};
  std::vector<int> values[2];
  int requests[2] = {};
  for (int v = 0; v < 2; ++v) {
    for (MPI_Offset i = 0; i < columns; ++i)
      values[v].push_back((v + 1) * value_of(record, start[1] + i));
    EXPECT_OK(ncmpi_iput_vara_int(id, v, start, count, values[v].data(), &requests[v]));
  }
  const int code = ncmpi_wait_all(id, 2, requests, nullptr);
  for (auto& list : values) std::fill(list.begin(), list.end(), -9);
  return code;
}

bool holds(int id, int record) {
  const MPI_Offset start[] = {record, 0}, count[] = {1, columns * world.size};
  bool right = true;
  for (int v = 0; v < 2; ++v) {
    std::vector<int> values(static_cast<size_t>(count[1]));
    EXPECT_OK(ncmpi_get_vara_int_all(id, v, start, count, values.data()));
    for (MPI_Offset i = 0; i < count[1]; ++i)
      right = right && values[static_cast<size_t>(i)] == (v + 1) * value_of(record, i);
  }
  return right;
}

// How many records rank 0 finds in the file, opened anew, all of them whole; -1: some is not.
int records_in_file(const std::string& path) {
  int found = 0;
  if (world.rank == 0) {
    int id = -1;
    MPI_Offset records = 0;
    EXPECT_OK(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id));
    EXPECT_OK(ncmpi_inq_dimlen(id, 0, &records));
    found = static_cast<int>(records);
    for (int r = 0; r < static_cast<int>(records); ++r)
      if (!holds(id, r)) found = -1;
    EXPECT_OK(ncmpi_close(id));
  }
  MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return found;
}

TEST(Async, a_call_returns_before_it_is_written_and_the_next_one_shows_it) {
  const std::string path = path_of_test();
  const int id = create(path, hints());
  plan("pwrite:delay=2000000");
  const double begin = MPI_Wtime();
  EXPECT_OK(put(id, 0));
  const double took = MPI_Wtime() - begin;
  EXPECT_LT(took, 1.9);
  EXPECT_EQ(records_in_file(path), 0);
  plan("none");
  std::this_thread::sleep_for(std::chrono::seconds(4));  // of which the file has it for most
  EXPECT_EQ(records_in_file(path), 0);
  EXPECT_OK(put(id, 1));
  EXPECT_EQ(records_in_file(path), 1);
  EXPECT_OK(ncmpi_sync(id));
  EXPECT_EQ(records_in_file(path), 2);
  EXPECT_OK(put(id, 2));
  EXPECT_TRUE(holds(id, 2));
  EXPECT_OK(put(id, 3));
  EXPECT_OK(ncmpi_redef(id));
  EXPECT_EQ(records_in_file(path), 4);
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_OK(put(id, 4));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_EQ(records_in_file(path), 5);
  remove(path);
}

TEST(Async, a_call_waits_where_memory_is_full_and_commits_meanwhile) {
  const std::string path = path_of_test();
  const int id = create(path, hints("8k"));
  plan("pwrite:delay=1000");
  // By which call depends on how far the threads are.
  MPI_Offset most = 0;
  for (int r = 0; r < 16; ++r) {
    EXPECT_OK(put(id, r));
    most = std::max<MPI_Offset>(most, records_in_file(path));
  }
  EXPECT_GT(most, 0);
  EXPECT_OK(ncmpi_close(id));
  plan("none");
  EXPECT_EQ(records_in_file(path), 16);
  remove(path);
}

TEST(Async, what_failed_is_told_by_the_next_call_on_all_ranks_and_tried_again) {
  const std::string path = path_of_test();
  const int id = create(path, hints());
  EXPECT_OK(put(id, 0));
  EXPECT_OK(ncmpi_sync(id));
  for (int round = 0; round < 3; ++round) {
    const int record = 1 + 2 * round;
    plan("pwrite:rank=" + std::to_string(world.size - 1) + ":errno=ENOSPC:from");
    EXPECT_OK(put(id, record));
    // The thread may not have come to it yet; behind this it has, and failed.
    EXPECT_ERR(NC_ENO_SPACE, ncmpi_sync(id));
    for (int again = 0; again < 2; ++again) {
      const int code = put(id, record + 1);
      EXPECT_ERR(NC_ENO_SPACE, code);
      EXPECT_TRUE(same_on_all_ranks(code));
      EXPECT_TRUE(same_on_all_ranks(ncmpi_sync(id)));
      EXPECT_EQ(records_in_file(path), record);
    }
    plan("none");
    // What was dropped is not there, what was kept is.
    if (round == 1) {
      EXPECT_OK(ncmpi_sync(id));
      EXPECT_EQ(records_in_file(path), record + 1);
    }
    EXPECT_OK(put(id, record + 1));
    EXPECT_OK(ncmpi_sync(id));
    EXPECT_EQ(records_in_file(path), record + 2);
  }
  // A close that cannot write it loses it, and says so; the rest is whole.
  plan("pwrite:rank=" + std::to_string(world.size - 1) + ":errno=ENOSPC:from");
  EXPECT_OK(put(id, 7));
  const int code = ncmpi_close(id);
  EXPECT_NE(code, NC_NOERR);
  EXPECT_TRUE(same_on_all_ranks(code));
  plan("none");
  EXPECT_EQ(records_in_file(path), 7);
  remove(path);
}

TEST(Async, the_header_is_written_behind_what_it_tells_of) {
  const std::string path = path_of_test();
  const int id = create(path, hints());
  plan("pwrite:delay=200000");
  EXPECT_OK(put(id, 0));
  EXPECT_OK(ncmpi_rename_var(id, 1, "other"));
  EXPECT_EQ(records_in_file(path), 1);
  plan("none");
  EXPECT_OK(ncmpi_close(id));
  remove(path);
}

TEST(Async, a_record_that_is_filled_stays_so) {
  const std::string path = path_of_test();
  const int id = create(path, hints());
  plan("pwrite:rank=" + std::to_string(world.size - 1) + ":delay=100000");
  EXPECT_OK(put(id, 0));
  EXPECT_OK(ncmpi_fill_var_rec(id, 1, 0));
  plan("none");
  EXPECT_OK(ncmpi_sync(id));
  const MPI_Offset start[] = {0, 0}, count[] = {1, columns * world.size};
  std::vector<int> values(static_cast<size_t>(count[1]));
  EXPECT_OK(ncmpi_get_vara_int_all(id, 1, start, count, values.data()));
  EXPECT_EQ(std::count(values.begin(), values.end(), NC_FILL_INT), count[1]);
  EXPECT_OK(ncmpi_get_vara_int_all(id, 0, start, count, values.data()));
  EXPECT_EQ(values.back(), value_of(0, count[1] - 1));
  EXPECT_OK(ncmpi_close(id));
  remove(path);
}

TEST(Async, independent_mode_and_independent_reads_begin_when_all_is_written) {
  const std::string path = path_of_test();
  const int id = create(path, hints());
  plan("pwrite:delay=20000");
  EXPECT_OK(put(id, 0));
  EXPECT_OK(ncmpi_begin_indep_data(id));
  const MPI_Offset at[] = {0, columns * world.size - 1};
  int value = 0;
  EXPECT_OK(ncmpi_get_var1_int(id, 0, at, &value));
  EXPECT_EQ(value, value_of(0, at[1]));
  EXPECT_OK(ncmpi_end_indep_data(id));
  EXPECT_OK(put(id, 1));
  EXPECT_TRUE(holds(id, 1));
  EXPECT_OK(ncmpi_close(id));
  plan("none");
  EXPECT_EQ(records_in_file(path), 2);
  remove(path);
}

}  // namespace
