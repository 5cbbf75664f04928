// Decomposed variables where system calls fail: a state that arrived although writing it failed,
// independent writes whose handing over fails; and files whose folder is another file's.
//
// pwrite and pwritev are defined here: the shared library finds them before the C library's.
#include <pnetcdf.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

namespace fs = std::filesystem;

// What becomes of the next writes to a state of this process: each may arrive, and fails.
enum class Fate { fine, lost, arrives };
std::vector<Fate> fates;

Fate fate_of(int fd) {
  if (fates.empty()) return Fate::fine;
  std::array<char, PATH_MAX> name{};
  const ssize_t n =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name.data(), name.size() - 1);
  if (n <= 0 || !std::string(name.data()).ends_with("/state")) return Fate::fine;
  const Fate fate = fates.front();
  fates.erase(fates.begin());
  return fate;
}

template <typename Call>
ssize_t with_fate(int fd, Call&& call) {
  const Fate fate = fate_of(fd);
  const ssize_t result = fate == Fate::lost ? -1 : call();
  if (fate == Fate::fine) return result;
  errno = EIO;
  return -1;
}

constexpr MPI_Offset columns = 2000;  // of a rank
constexpr int rows = 12;

// A data file for so many ranks.
Info by_ranks(int ranks = 1) {
  return Info({{"layout", "decomposed"},
               {"subfiling", "ranks"},
               {"subfile_ranks", std::to_string(ranks)},
               {"buffer_limit", "64k"}});
}

int value_of(int version, int row, MPI_Offset column) {
  return version * 1000000 + row * 10000 + static_cast<int>(column);
}

// grid(row, x), of which each rank has `columns`, and its number.
int create(const std::string& path, int& id, MPI_Info info) {
  int dims[2] = {};
  int var = -1;
  int code = ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &id);
  if (code != NC_NOERR) return code;
  EXPECT_OK(ncmpi_def_dim(id, "row", rows, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "x", columns * world.size, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "grid", NC_INT, 2, dims, &var));
  return ncmpi_enddef(id);
}

struct Rows {
  int first = 0, count = rows;
};

int put(int id, int version, bool collective = true, Rows of = {}) {
  std::vector<int> values;
  const MPI_Offset start[] = {of.first, columns * world.rank}, count[] = {of.count, columns};
  for (int r = 0; r < of.count; ++r)
    for (MPI_Offset i = 0; i < columns; ++i)
      values.push_back(value_of(version, of.first + r, start[1] + i));
  if (collective && world.rank == 0) ::usleep(2000);
  return (collective ? ncmpi_put_vara_int_all : ncmpi_put_vara_int)(id, 0, start, count,
                                                                    values.data());
}

// Which version rows have, whole; -1: none.
int version_of(const std::vector<int>& values, Rows of, MPI_Offset first, MPI_Offset width) {
  const int version = values[0] / 1000000;
  for (int r = 0; r < of.count; ++r)
    for (MPI_Offset i = 0; i < width; ++i)
      if (values[static_cast<size_t>(r * width + i)] != value_of(version, of.first + r, first + i))
        return -1;
  return version;
}

// What rank 0 finds in the file, opened anew: a version, or a code.
int version_in_file(const std::string& path, Rows of = {}) {
  int found = 0;
  if (world.rank == 0) {
    int id = -1;
    const MPI_Offset width = columns * world.size;
    const MPI_Offset start[] = {of.first, 0}, count[] = {of.count, width};
    std::vector<int> values(static_cast<size_t>(of.count * width));
    found = ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id);
    if (found == NC_NOERR) {
      found = ncmpi_get_vara_int_all(id, 0, start, count, values.data());
      if (found == NC_NOERR) found = version_of(values, of, 0, width);
      EXPECT_OK(ncmpi_close(id));
    }
  }
  MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return found;
}

// Of this rank's columns, in the session.
int version_here(int id, Rows of = {}) {
  const MPI_Offset start[] = {of.first, columns * world.rank}, count[] = {of.count, columns};
  std::vector<int> values(static_cast<size_t>(of.count * columns));
  EXPECT_OK(ncmpi_get_vara_int_all(id, 0, start, count, values.data()));
  return version_of(values, of, start[1], columns);
}

void fail(const char* plan) {
  MPI_Barrier(MPI_COMM_WORLD);
  setenv("FOREBAY_FAULT", plan, 1);
}

void fail_states(std::vector<Fate> next) {
  if (world.rank == 0) fates = std::move(next);
}

// -- a state in doubt

TEST(DecomposedFaults, what_a_state_uses_that_arrived_although_its_write_failed_stays) {
  const std::string path = world.path();
  int id = -1;
  EXPECT_OK(create(path, id, by_ranks()));
  EXPECT_OK(put(id, 0));
  int version = 0;
  for (int round = 0; round < 8; ++round) {
    if (round == 3) {
      EXPECT_OK(ncmpi_sync(id));
    }
    // It arrives, but the next one, which would overrule it, does not.
    fail_states({Fate::arrives});
    EXPECT_TRUE(same_on_all_ranks(put(id, version + 1)));
    EXPECT_EQ(version_in_file(path), version + 1);
    EXPECT_EQ(version_here(id), version);
    for (int again = 0; again < 3; ++again) {
      fail_states({Fate::lost});
      EXPECT_NE(put(id, version + 2 + again), NC_NOERR);
      EXPECT_EQ(version_in_file(path), version + 1) << "round " << round << " again " << again;
      EXPECT_EQ(version_here(id), version);
    }
    // The overruling one arrives, and fails: what it tells is the last that was known.
    fail_states({Fate::arrives});
    EXPECT_NE(put(id, version + 5), NC_NOERR);
    EXPECT_EQ(version_in_file(path), version);
    if (round % 2 == 1) {
      EXPECT_OK(ncmpi_sync(id));
      EXPECT_EQ(version_in_file(path), version);
    }
    fail_states({});
    version += 6;
    EXPECT_OK(put(id, version));
    EXPECT_EQ(version_in_file(path), version);
    EXPECT_EQ(version_here(id), version);
  }
  EXPECT_OK(ncmpi_close(id));
  EXPECT_EQ(version_in_file(path), version);
}

// -- independent writes

// Six times what may wait in memory; the file that the rest is in cannot be read at first.
void keep_writes(int ranks) {
  const std::string path = world.path();
  int id = -1;
  EXPECT_OK(create(path, id, by_ranks(ranks)));
  EXPECT_OK(put(id, 0));
  for (int round = 1; round <= 6; ++round) {
    EXPECT_OK(ncmpi_begin_indep_data(id));
    for (int r = 0; r < rows; ++r) EXPECT_OK(put(id, round, false, {r, 1}));
    fail(round % 2 == 0 ? "pread:rank=1:call=3:from" : "pread:rank=1:call=1:from");
    if (world.rank == 0) ::usleep(2000);
    const int code = ncmpi_end_indep_data(id);
    EXPECT_NE(code, NC_NOERR);
    EXPECT_TRUE(same_on_all_ranks(code));
    EXPECT_NE(ncmpi_sync(id), NC_NOERR);
    EXPECT_NE(put(id, round + 100, true, {0, 2}), NC_NOERR);
    EXPECT_EQ(version_in_file(path), round - 1);
    fail("none");
    EXPECT_EQ(version_here(id), round);
    // What is written now comes after what waits.
    if (round % 3 == 1) {
      EXPECT_OK(ncmpi_sync(id));
    } else if (round % 3 == 2) {
      EXPECT_OK(put(id, round + 200, true, {0, 2}));
      EXPECT_EQ(version_in_file(path, {0, 2}), round + 200);
      EXPECT_EQ(version_in_file(path, {2, rows - 2}), round);
      EXPECT_OK(put(id, round, true, {0, 2}));
    } else {
      EXPECT_OK(ncmpi_begin_indep_data(id));
      EXPECT_OK(put(id, round, false, {5, 1}));
      EXPECT_OK(ncmpi_end_indep_data(id));
    }
    EXPECT_EQ(version_in_file(path), round);
  }
  EXPECT_OK(ncmpi_begin_indep_data(id));
  for (int r = 0; r < rows; ++r) EXPECT_OK(put(id, 7, false, {r, 1}));
  fail("pread:rank=1:call=1:from");
  const int code = ncmpi_close(id);
  EXPECT_NE(code, NC_NOERR);
  EXPECT_TRUE(same_on_all_ranks(code));
  fail("none");
  EXPECT_EQ(version_in_file(path), 6);
}

TEST(DecomposedFaults, independent_writes_stay_where_the_call_that_hands_them_over_fails) {
  if (world.size > 1) keep_writes(1);  // of one rank nothing waits
}

// The others of the group wait for the one that fails.
TEST(DecomposedFaults, so_they_do_where_ranks_share_a_data_file) {
  if (world.size > 1) keep_writes(2);
}

void on_first(const std::function<void()>& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) f();
  MPI_Barrier(MPI_COMM_WORLD);
}

void remove_all(const std::string& path) {
  on_first([&] {
    fs::remove(path);
    fs::remove_all(path + ".subfiles");
  });
}

// -- inverse maps

constexpr int scattered = 600;  // columns, of all ranks together

bool is_mine(int column) { return (column * column / 5 + column) % world.size == world.rank; }

int put_scattered(int id, int version) {
  std::vector<std::array<MPI_Offset, 2>> starts, counts;
  std::vector<int> values;
  for (int c = 0; c < scattered; ++c) {
    if (!is_mine(c)) continue;
    starts.push_back({0, c});
    counts.push_back({rows, 1});
    for (int r = 0; r < rows; ++r) values.push_back(value_of(version, r, c));
  }
  std::vector<MPI_Offset*> first, many;
  for (auto& s : starts) first.push_back(s.data());
  for (auto& c : counts) many.push_back(c.data());
  return ncmpi_put_varn_int_all(id, 0, static_cast<int>(first.size()), first.data(), many.data(),
                                values.data());
}

int scattered_version_in_file(const std::string& path) {
  int found = 0;
  if (world.rank == 0) {
    int id = -1;
    const MPI_Offset start[] = {0, 0}, count[] = {rows, scattered};
    std::vector<int> values(static_cast<size_t>(rows * scattered));
    EXPECT_OK(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id));
    EXPECT_OK(ncmpi_get_vara_int_all(id, 0, start, count, values.data()));
    found = version_of(values, {}, 0, scattered);
    EXPECT_OK(ncmpi_close(id));
  }
  MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return found;
}

// What fails when the file is closed; and whether it has inverse maps then, by its size.
bool closes_with_inverses(const std::string& path, int version, const std::string& plan,
                          std::vector<Fate> states, MPI_Offset whole) {
  int id = -1;
  EXPECT_OK(create(path, id, by_ranks(world.size)));
  EXPECT_OK(put_scattered(id, version));
  fail(plan.c_str());
  fail_states(std::move(states));
  EXPECT_OK(ncmpi_close(id));
  fail_states({});
  fail("none");
  EXPECT_EQ(scattered_version_in_file(path), version) << plan;
  return static_cast<MPI_Offset>(fs::file_size(path + ".subfiles/0")) >= whole;
}

TEST(DecomposedFaults, files_are_closed_and_whole_where_their_inverse_maps_cannot_be_written) {
  if (world.size == 1) return;  // one pattern is in order
  const std::string path = world.path();
  closes_with_inverses(path, 1, "none", {}, 0);
  const auto whole = static_cast<MPI_Offset>(fs::file_size(path + ".subfiles/0"));
  int version = 1, without = 0;
  for (const int rank : {0, 1}) {
    for (int call = 1; call <= 8; ++call) {
      const std::string plan =
          "pwrite:rank=" + std::to_string(rank) + ":call=" + std::to_string(call);
      without += closes_with_inverses(path, ++version, plan + ":errno=ENOSPC", {}, whole) ? 0 : 1;
      closes_with_inverses(path, ++version, plan + ":from", {}, whole);
    }
  }
  EXPECT_GE(without, 2);
  closes_with_inverses(path, ++version, "none", {Fate::lost}, whole);
  closes_with_inverses(path, ++version, "none", {Fate::arrives}, whole);
  // Who opens such a file to write makes them.
  EXPECT_FALSE(closes_with_inverses(path, ++version, "pwrite:rank=0:call=1:from", {}, whole));
  int id = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_WRITE, by_ranks(world.size), &id));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_EQ(static_cast<MPI_Offset>(fs::file_size(path + ".subfiles/0")), whole);
  EXPECT_EQ(scattered_version_in_file(path), version);
  remove_all(path);
}

// -- folders of other files

void make(const std::string& path, int version) {
  int id = -1;
  EXPECT_OK(create(path, id, by_ranks()));
  EXPECT_OK(put(id, version));
  EXPECT_OK(ncmpi_close(id));
}

TEST(DecomposedFaults, a_folder_of_another_file_stays_when_a_copy_is_deleted_or_clobbered) {
  const std::string path = world.path(), other = world.path("other.nc"),
                    kept = world.path("kept.nc");
  make(path, 1);
  make(other, 2);
  // The copy comes in the place of the file whose folder that is.
  const auto copy = [&] {
    on_first([&] {
      fs::copy_file(other, kept, fs::copy_options::overwrite_existing);
      fs::copy_file(path, other, fs::copy_options::overwrite_existing);
    });
  };
  const auto put_back = [&] {
    on_first([&] { fs::copy_file(kept, other, fs::copy_options::overwrite_existing); });
    EXPECT_EQ(version_in_file(other), 2);
  };
  copy();
  on_first([&] { EXPECT_OK(ncmpi_delete(other.c_str(), MPI_INFO_NULL)); });
  EXPECT_FALSE(fs::exists(other));
  put_back();
  // A classic file in its place, made and removed again.
  copy();
  int id = -1;
  EXPECT_OK(create(other, id, MPI_INFO_NULL));
  EXPECT_OK(ncmpi_close(id));
  on_first([&] { EXPECT_OK(ncmpi_delete(other.c_str(), MPI_INFO_NULL)); });
  put_back();
  // One with decomposed variables needs that folder.
  copy();
  const int code = create(other, id, by_ranks());
  EXPECT_ERR(NC_EEXIST, code);
  EXPECT_TRUE(same_on_all_ranks(code));
  ncmpi_abort(id);
  put_back();
  on_first([&] { EXPECT_OK(ncmpi_delete(other.c_str(), MPI_INFO_NULL)); });
  EXPECT_FALSE(fs::exists(other + ".subfiles"));
  remove_all(path);
  on_first([&] { fs::remove(kept); });
}

TEST(DecomposedFaults, a_folder_goes_with_its_file) {
  const std::string path = world.path();
  int id = -1;
  make(path, 1);
  EXPECT_OK(create(path, id, MPI_INFO_NULL));  // clobbers
  EXPECT_OK(ncmpi_close(id));
  EXPECT_FALSE(fs::exists(path + ".subfiles"));
  make(path, 2);
  make(path, 3);
  EXPECT_EQ(version_in_file(path), 3);
  // What was made in part is removed.
  int failed = 0;
  for (int call = 1; call <= 12; ++call) {
    fail(("pwrite:rank=0:call=" + std::to_string(call)).c_str());
    const bool made = create(path, id, by_ranks()) == NC_NOERR;
    fail("none");
    made ? ncmpi_close(id) : ncmpi_abort(id);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(fs::exists(path + ".subfiles"), made) << call;
    failed += made ? 0 : 1;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_GE(failed, 4);  // state, front, anchors, header
  // Whoever removed the file alone may make it again.
  make(path, 4);
  on_first([&] { fs::remove(path); });
  make(path, 5);
  EXPECT_EQ(version_in_file(path), 5);
  remove_all(path);
}

// The folder that a failed enddef made is its own.
TEST(DecomposedFaults, an_enddef_that_failed_may_be_called_again) {
  const std::string path = world.path();
  int again = 0;
  for (int call = 1; call <= 12; ++call) {
    int id = -1;
    fail(("pwrite:rank=0:call=" + std::to_string(call)).c_str());
    const int code = create(path, id, by_ranks());
    fail("none");
    if (code != NC_NOERR) {
      EXPECT_OK(ncmpi_enddef(id)) << call;
      ++again;
    }
    EXPECT_OK(put(id, call)) << call;
    EXPECT_OK(ncmpi_close(id));
    EXPECT_EQ(version_in_file(path), call);
    remove_all(path);
  }
  EXPECT_GE(again, 4);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* bytes, size_t count,
                                                      off_t offset) {
  return with_fate(fd, [&] { return ::syscall(SYS_pwrite64, fd, bytes, count, offset); });
}

__attribute__((visibility("default"))) ssize_t pwritev(int fd, const iovec* pieces, int count,
                                                       off_t offset) {
  return with_fate(
      fd, [&] { return ::syscall(SYS_pwritev, fd, pieces, count, static_cast<long>(offset), 0L); });
}

}  // extern "C"
