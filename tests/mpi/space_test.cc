// Space that nothing refers to any more: files that are written again and again become no larger
// than what is in them asks for, whether values lie in the file itself or in data files beside it.
#include <forebay.h>
#include <pnetcdf.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.h"
#include "support/info.h"
#include "support/wings.h"

using namespace forebay_test;

namespace {

namespace fs = std::filesystem;

// Of each rank, 800 kB of `large` and 160 kB of `small`; the last one of several has nothing.
constexpr MPI_Offset rows = 100, large_columns = 1000, small_columns = 200;
constexpr MPI_Offset kib = 1024;
enum { large, small };

struct Kind {
  const char* name;
  Hints hints;
  bool has_codec = true, has_folder = true;
  // Whether what is written by other ranks' files takes the place of what was there before.
  bool replaces = true;
};

const std::vector<Kind>& kinds() {
  static std::vector<Kind> all = {
      {"one file of chunks",
       {{"layout", "chunked"}, {"codec", "shuffle,zstd:1"}, {"chunk_bytes", "16k"}},
       true,
       false},
      {"directory of chunks",
       {{"layout", "chunked"},
        {"codec", "shuffle,zstd:1"},
        {"chunk_bytes", "16k"},
        {"container", "directory"},
        {"subfiling", "ranks"},
        {"subfile_ranks", "1"}}},
      {"directory of chunks, two ranks a file",
       {{"layout", "chunked"},
        {"codec", "shuffle,zstd:1"},
        {"chunk_bytes", "16k"},
        {"container", "directory"},
        {"subfiling", "ranks"},
        {"subfile_ranks", "2"}}},
      {"one file of patches",
       {{"layout", "patches"}, {"codec", "shuffle,zstd:1"}, {"patch_edge", "32"}},
       true,
       false},
      {"files of patches",
       {{"layout", "patches"},
        {"codec", "shuffle,zstd:1"},
        {"patch_edge", "32"},
        {"subfiling", "ranks"},
        {"subfile_ranks", "1"}}},
      {"decomposed, encoded",
       {{"layout", "decomposed"},
        {"codec", "shuffle,zstd:1"},
        {"chunk_bytes", "16k"},
        {"subfiling", "ranks"},
        {"subfile_ranks", "1"}},
       true,
       true,
       false},
      {"decomposed in one file of two ranks",
       {{"layout", "decomposed"},
        {"codec", "shuffle,zstd:1"},
        {"chunk_bytes", "16k"},
        {"subfiling", "ranks"},
        {"subfile_ranks", "2"}},
       true,
       true,
       false},
      {"decomposed",
       {{"layout", "decomposed"}, {"subfiling", "ranks"}, {"subfile_ranks", "1"}},
       false,
       true,
       false},
  };
  std::erase_if(all, [](const Kind& kind) { return !are_built(kind.hints); });
  return all;
}

bool is_idle() { return world.size > 1 && world.rank == world.size - 1; }
MPI_Offset writers() { return world.size > 1 ? world.size - 1 : 1; }
MPI_Offset columns_of(int var) { return var == large ? large_columns : small_columns; }

// Each number of a noise is another, which no codec makes much smaller; seed 0 is a constant.
double value(unsigned seed, MPI_Offset row, MPI_Offset column) {
  if (seed == 0) return 1.5;
  auto mixed = seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(row * 100003 + column);
  for (int i = 0; i < 2; ++i) mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<double>(mixed >> 1) / 1e10;
}

std::vector<double> values_of(int var, unsigned seed, MPI_Offset whose) {
  std::vector<double> values;
  const MPI_Offset first = whose * columns_of(var);
  for (MPI_Offset r = 0; r < rows; ++r)
    for (MPI_Offset c = 0; c < columns_of(var); ++c) values.push_back(value(seed, r, first + c));
  return values;
}

int open(int mode, const Hints& hints, MPI_Comm comm = MPI_COMM_WORLD) {
  int id = -1;
  EXPECT_OK(ncmpi_open(comm, world.path().c_str(), mode, Info(hints), &id));
  return id;
}

void create(const Hints& hints) {
  int id = -1, dims[3] = {-1, -1, -1}, var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA,
                         Info(hints), &id));
  EXPECT_OK(ncmpi_def_dim(id, "row", rows, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "x", large_columns * world.size, &dims[1]));
  EXPECT_OK(ncmpi_def_dim(id, "y", small_columns * world.size, &dims[2]));
  for (const int of : {large, small}) {
    const int mine[] = {dims[0], dims[1 + of]};
    EXPECT_OK(ncmpi_def_var(id, of == large ? "large" : "small", NC_DOUBLE, 2, mine, &var));
    EXPECT_EQ(of, var);
  }
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_OK(ncmpi_close(id));
}

// Ranks' own columns; `shift`: those of the next of the ranks that write.
void put(int id, int var, unsigned seed, MPI_Offset shift = 0) {
  const MPI_Offset whose = (world.rank + shift) % writers();
  const MPI_Offset start[] = {0, whose * columns_of(var)},
                   count[] = {is_idle() ? 0 : rows, columns_of(var)};
  const auto values = values_of(var, seed, whose);
  EXPECT_OK(ncmpi_put_vara_double_all(id, var, start, count, values.data()));
}

// A session that writes one variable.
void write(const Hints& hints, int var, unsigned seed, bool syncs = false, MPI_Offset shift = 0) {
  MPI_Barrier(MPI_COMM_WORLD);
  const int id = open(NC_WRITE, hints);
  put(id, var, seed, shift);
  if (syncs) {
    EXPECT_OK(ncmpi_sync(id));
  }
  EXPECT_OK(ncmpi_close(id));
}

void expect_values(int var, unsigned seed, const Hints& hints = {}) {
  MPI_Barrier(MPI_COMM_WORLD);
  const int id = open(NC_NOWRITE, hints);
  const MPI_Offset whose = (world.rank + 1) % writers();
  const MPI_Offset start[] = {0, whose * columns_of(var)}, count[] = {rows, columns_of(var)};
  std::vector<double> found(static_cast<size_t>(rows * columns_of(var)), -1);
  EXPECT_OK(ncmpi_get_vara_double_all(id, var, start, count, found.data()));
  EXPECT_TRUE(found == values_of(var, seed, whose))
      << "variable " << var << ": " << forebay_error_message();
  EXPECT_OK(ncmpi_close(id));
}

// Sizes of the file, of the index or state, and of data files by number; the same on all ranks.
struct Sizes {
  MPI_Offset all = 0, largest = 0;
  int files = 0;
};

Sizes sizes() {
  MPI_Barrier(MPI_COMM_WORLD);
  Sizes found;
  const auto add = [&](const fs::path& path) {
    const auto size = static_cast<MPI_Offset>(fs::file_size(path));
    found.all += size;
    found.largest = std::max(found.largest, size);
    ++found.files;
  };
  if (fs::is_regular_file(world.path())) add(world.path());
  for (const std::string& folder : {world.path(), world.path() + ".subfiles"})
    if (fs::is_directory(folder))
      for (const auto& entry : fs::directory_iterator(folder)) add(entry.path());
  MPI_Barrier(MPI_COMM_WORLD);
  return found;
}

// What there may be beside `bytes` in use: what is not worth a move in each file, and indexes.
MPI_Offset most_for(MPI_Offset bytes, const Sizes& now) {
  return bytes * 3 / 2 + now.files * 80 * kib;
}

void remove() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_delete(world.path().c_str(), MPI_INFO_NULL));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

// What is small lies last, behind what was large.
TEST(Space, a_file_whose_values_become_smaller_does_so_when_it_is_closed) {
  const MPI_Offset in_large = 8 * rows * large_columns * writers();
  const MPI_Offset in_small = 8 * rows * small_columns * writers();
  for (const Kind& kind : kinds()) {
    if (!kind.has_codec) continue;
    SCOPED_TRACE(kind.name);
    create(kind.hints);
    write(kind.hints, large, 1);
    write(kind.hints, small, 2);
    const Sizes before = sizes();
    EXPECT_GT(before.all, (in_large + in_small) / 5 * 4);
    write(kind.hints, large, 0);
    const Sizes after = sizes();
    EXPECT_LT(after.all, most_for(in_small, after)) << before.all << " bytes before";
    expect_values(large, 0);
    expect_values(small, 2);
    // And once more, from what was moved.
    write(kind.hints, small, 0);
    const Sizes least = sizes();
    EXPECT_LT(least.all, most_for(0, least) + in_small / 4) << after.all << " bytes before";
    expect_values(large, 0);
    expect_values(small, 0);
    remove();
  }
}

TEST(Space, a_file_that_is_written_again_and_again_stays_as_large_as_its_values) {
  const MPI_Offset in_both = 8 * rows * (large_columns + small_columns) * writers();
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    create(kind.hints);
    write(kind.hints, small, 1);
    write(kind.hints, large, 2);
    for (unsigned i = 0; i < 8; ++i) {
      write(kind.hints, i % 3 == 2 ? small : large, 10 + i);
      const Sizes now = sizes();
      EXPECT_LT(now.all, most_for(in_both, now)) << i;
    }
    expect_values(large, 17);
    expect_values(small, 15);
    remove();
  }
}

// One file takes what lay in those of each rank: nothing is left in these.
TEST(Space, data_files_that_no_rank_writes_any_more_are_cut_too) {
  for (const Kind& kind : kinds()) {
    if (!kind.has_folder || !kind.replaces || world.size == 1) continue;
    SCOPED_TRACE(kind.name);
    create(kind.hints);
    write(kind.hints, large, 1);
    Hints together = kind.hints;
    for (auto& [key, its] : together)
      if (key == "subfile_ranks") its = std::to_string(world.size);
    write(together, large, 0);
    const Sizes after = sizes();
    EXPECT_LT(after.all, 200 * kib);
    expect_values(large, 0);
    // What a job left that nobody knows of any more.
    const std::string folder = world.path() + (fs::is_directory(world.path()) ? "" : ".subfiles");
    const std::string last = folder + "/" + std::to_string(world.size - 1);
    if (fs::exists(last)) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (world.rank == 0) fs::resize_file(last, 1 << 20);
      write(together, small, 0);
      EXPECT_EQ(4096U, fs::file_size(last));
    }
    remove();
  }
}

TEST(Space, what_the_synced_state_has_stays) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    create(kind.hints);
    write(kind.hints, large, 1);
    write(kind.hints, small, 2, true);
    for (unsigned i = 0; i < 3; ++i) write(kind.hints, large, i == 1 ? 0 : 3 + i);
    expect_values(large, 5);
    const Hints synced = {{"chunk_state", "synced"}};
    expect_values(large, 1, synced);
    expect_values(small, 2, synced);
    // Then nothing needs it.
    write(kind.hints, large, 0, true);
    write(kind.hints, large, 0, true);
    const Sizes now = sizes();
    if (kind.has_codec) {
      EXPECT_LT(now.all, most_for(8 * rows * small_columns * writers(), now) +
                             8 * rows * large_columns * writers());
    }
    expect_values(large, 0, synced);
    remove();
  }
}

// A process has the file open meanwhile: it gets what was there when it looked, or what is there
// now, or an error.
TEST(Space, who_reads_while_a_file_becomes_shorter_reads_nothing_else) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    create(kind.hints);
    write(kind.hints, large, 1);
    write(kind.hints, small, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    const int id = open(NC_NOWRITE, {{"chunk_cache", "0"}}, MPI_COMM_SELF);
    const auto read = [&](int var) {
      const MPI_Offset start[] = {0, 0}, count[] = {rows, columns_of(var)};
      std::vector<double> found(static_cast<size_t>(rows * columns_of(var)), -1);
      const int code = ncmpi_get_vara_double_all(id, var, start, count, found.data());
      return std::pair(code, found);
    };
    const auto first = read(small);
    EXPECT_OK(first.first);
    EXPECT_TRUE(first.second == values_of(small, 2, 0));
    write(kind.hints, large, 0);
    write(kind.hints, small, 0);
    for (const int var : {large, small}) {
      const auto [code, found] = read(var);
      if (code != NC_NOERR) continue;
      const unsigned old = var == large ? 1 : 2;
      EXPECT_TRUE(found == values_of(var, 0, 0) || found == values_of(var, old, 0))
          << "variable " << var << ": " << forebay_error_message();
    }
    EXPECT_OK(ncmpi_close(id));
    remove();
  }
}
