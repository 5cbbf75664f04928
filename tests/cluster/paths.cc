// Files whose path leads elsewhere on another node: into a folder of its own (--dir is each node's
// own disk) with a file of the same name, or with none, or relative to another folder.
#ifdef FOREBAY_TEST_GROUPS  // the build has the wing
#include <forebay_groups.h>
#endif
#include <pnetcdf.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"
#include "support/wings.h"

using namespace forebay_test;

namespace {

namespace fs = std::filesystem;

constexpr MPI_Offset width = 50'000;

struct Way {
  const char* name;
  Hints hints;
};

const Way ways[] = {
    {"default", {}},
    {"memory", {{"stage", "memory"}}},
    {"async", {{"stage", "async"}}},
    {"posix", {{"transport", "posix"}}},
    {"aggregated", {{"transport", "aggregated"}, {"window_size", "4096"}}},
    {"independent", {{"transport", "independent"}}},
    {"collective", {{"transport", "collective"}}},
    {"chunked", {{"layout", "chunked"}, {"chunk_bytes", "4096"}}},
    {"bundle", {{"bundle", "paths"}}},
    {"decomposed", {{"layout", "decomposed"}, {"subfiling", "node"}}},
    {"chunk files", {{"layout", "chunked"}, {"subfiling", "node"}, {"chunk_bytes", "4096"}}},
    {"directory", {{"container", "directory"}, {"layout", "decomposed"}, {"subfiling", "node"}}},
};

bool on_first_node() {
  std::array<char, 256> mine{}, first{};
  ::gethostname(mine.data(), mine.size() - 1);
  first = mine;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return mine == first;
}

/// The least code of all ranks, and whether all have an error if any has.
struct Outcome {
  int worst = NC_NOERR;
  bool alike = true;

  void note(int code) {
    std::array<int, 2> both{code, code == NC_NOERR ? 0 : -1}, least{}, most{};
    MPI_Allreduce(both.data(), least.data(), 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(both.data(), most.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (worst == NC_NOERR) worst = least[0];
    alike = alike && least[1] == most[1];
  }
};

std::vector<int> values_of(int seed, int rank = world.rank) {
  std::vector<int> values(width);
  for (int i = 0; i < width; ++i)
    values[static_cast<size_t>(i)] = 10'000'000 * seed + 100'000 * rank + i;
  return values;
}

int put(int id, int seed) {
  const MPI_Offset at = width * world.rank;
  return ncmpi_put_vara_int_all(id, 0, &at, &width, values_of(seed).data());
}

Outcome write(const std::string& path, const Way& way, int seed, MPI_Comm comm = MPI_COMM_WORLD) {
  Outcome outcome;
  const Info info(way.hints);
  int id = -1, x = -1, var = -1, ranks = 0;
  MPI_Comm_size(comm, &ranks);
  outcome.note(ncmpi_create(comm, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &id));
  if (outcome.worst != NC_NOERR) return outcome;
  EXPECT_OK(ncmpi_def_dim(id, "x", width * ranks, &x));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  outcome.note(ncmpi_enddef(id));
  if (outcome.worst == NC_NOERR) outcome.note(put(id, seed));
  outcome.note(ncmpi_close(id));
  return outcome;
}

Outcome read(const std::string& path, const Way& way, int seed, bool& right) {
  Outcome outcome;
  const Info info(way.hints);
  int id = -1;
  right = false;
  outcome.note(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, info, &id));
  if (outcome.worst != NC_NOERR) return outcome;
  const MPI_Offset at = width * world.rank;
  std::vector<int> found(width, -1);
  outcome.note(ncmpi_get_vara_int_all(id, 0, &at, &width, found.data()));
  right = found == values_of(seed);
  outcome.note(ncmpi_close(id));
  return outcome;
}

std::string text_of(const fs::path& path) {
  std::string all;
  if (!fs::is_directory(path)) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) all += entry.path().string() + text_of(entry.path());
  return all;
}

/// All that a node has of a folder.
std::string contents_of(const fs::path& folder) {
  return fs::exists(folder) ? text_of(folder) : "";
}

/// A folder of each node's own, which each node empties, or has not.
fs::path own_folder(bool everywhere) {
  const fs::path folder = world.path("own");
  MPI_Barrier(MPI_COMM_WORLD);
  int node_rank = 0;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &node_rank);
  if (node_rank == 0) {
    fs::remove_all(folder);
    if (everywhere || world.rank == 0) fs::create_directories(folder);
  }
  MPI_Comm_free(&node);
  MPI_Barrier(MPI_COMM_WORLD);
  return folder;
}

/// Collective. The ranks of each node make a whole file of that name of their own.
void make_own(const std::string& path, const Way& way, int seed) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node);
  int id = -1, x = -1, var = -1;
  const Info info(way.hints);
  EXPECT_OK(ncmpi_create(node, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "x", width * world.size, &x));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  EXPECT_OK(ncmpi_enddef(id));
  int node_rank = 0;
  MPI_Comm_rank(node, &node_rank);
  for (int rank = 0; rank < world.size; ++rank) {
    const MPI_Offset at = width * rank, count = node_rank == 0 ? width : 0;
    EXPECT_OK(ncmpi_put_vara_int_all(id, 0, &at, &count, values_of(seed, rank).data()));
  }
  EXPECT_OK(ncmpi_close(id));
  MPI_Comm_free(&node);
}

template <typename F>
void each_way(F&& f) {
  for (const Way& way : ways) {
    if (!are_built(way.hints)) continue;
    SCOPED_TRACE(way.name);
    f(way);
  }
}

}  // namespace

TEST(Paths, a_file_of_the_same_name_on_another_node_is_not_written_to) {
  each_way([](const Way& way) {
    const fs::path folder = own_folder(true), file = folder / "out.nc";
    make_own(file, way, 1);
    const bool first = on_first_node();
    const std::string before = first ? "" : contents_of(folder);
    const Outcome outcome = write(file, way, 2);
    EXPECT_NE(outcome.worst, NC_NOERR);
    EXPECT_TRUE(outcome.alike);
    EXPECT_TRUE(first || contents_of(folder) == before);
  });
}

TEST(Paths, a_file_of_the_same_name_on_another_node_is_not_read) {
  each_way([](const Way& way) {
    const fs::path file = own_folder(true) / "in.nc";
    make_own(file, way, on_first_node() ? 3 : 4);
    bool right = false;
    const Outcome outcome = read(file, way, 3, right);
    EXPECT_TRUE(outcome.worst != NC_NOERR || right);
    EXPECT_TRUE(outcome.alike);
  });
}

TEST(Paths, nothing_is_made_where_another_node_has_no_such_folder) {
  each_way([](const Way& way) {
    const fs::path folder = own_folder(false);
    const Outcome outcome = write(folder / "out.nc", way, 4);
    EXPECT_NE(outcome.worst, NC_NOERR);
    EXPECT_TRUE(outcome.alike);
    EXPECT_TRUE(on_first_node() || !fs::exists(folder));
  });
}

TEST(Paths, nothing_is_made_in_another_nodes_empty_folder) {
  each_way([](const Way& way) {
    const fs::path folder = own_folder(true);
    const Outcome outcome = write(folder / "out.nc", way, 5);
    EXPECT_NE(outcome.worst, NC_NOERR);
    EXPECT_TRUE(outcome.alike);
    EXPECT_TRUE(on_first_node() || fs::is_empty(folder));
  });
}

// The test's own folder is one that all nodes see.
TEST(Paths, a_node_in_another_folder_writes_and_reads_rank_0s_file) {
  const fs::path back = fs::current_path();
  each_way([&](const Way& way) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == 0) {
      for (const char* name : {"first", "second"}) {
        fs::remove_all(back / name);
        fs::create_directories(back / name);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(::chdir((back / (on_first_node() ? "first" : "second")).c_str()), 0);
    EXPECT_EQ(write("out.nc", way, 6).worst, NC_NOERR);
    bool right = false;
    EXPECT_EQ(read("out.nc", way, 6, right).worst, NC_NOERR);
    EXPECT_TRUE(right);
    EXPECT_TRUE(fs::is_empty(back / "second"));
    EXPECT_EQ(::chdir(back.c_str()), 0);
  });
}

#ifdef FOREBAY_TEST_GROUPS
namespace {

Outcome write_group(const std::string& path, int ranks_per_file) {
  Outcome outcome;
  int file = -1;
  const std::string hints =
      ranks_per_file == 0 ? "subfiling=none" : "subfiling=ranks;subfile_ranks=1";
  EXPECT_EQ(forebay_init(nullptr, MPI_COMM_WORLD), 0);
  EXPECT_EQ(forebay_define_group("g", "c"), 0);
  EXPECT_EQ(forebay_define_var("g", "v", "double", "50000", "", "", ""), 0);
  EXPECT_EQ(forebay_define_method("g", hints.c_str()), 0);
  outcome.note(forebay_open(&file, "g", path.c_str(), "w", MPI_COMM_WORLD));
  if (outcome.worst == 0) {
    const std::vector<double> values(width, world.rank);
    outcome.note(forebay_write(file, "v", values.data()));
    outcome.note(forebay_end_step(file));
    outcome.note(forebay_close(file));
  }
  EXPECT_EQ(forebay_finalize(), 0);
  return outcome;
}

}  // namespace

TEST(Paths, groups_are_not_written_into_another_nodes_folder) {
  for (const char* const name : {"out.bp", "out.nc"}) {
    for (const int ranks : {0, 1}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(ranks));
      const fs::path folder = own_folder(true);
      const bool first = on_first_node();
      MPI_Barrier(MPI_COMM_WORLD);
      fs::create_directories(folder / "out.bp");
      MPI_Barrier(MPI_COMM_WORLD);
      const Outcome outcome = write_group(folder / name, ranks);
      const auto bytes = static_cast<MPI_Offset>(contents_of(folder).size());
      const bool is_whole = bytes >= world.size * width * MPI_Offset{sizeof(double)};
      EXPECT_TRUE(outcome.alike);
      EXPECT_TRUE(first ? outcome.worst != 0 || is_whole : bytes == 0)
          << "code " << outcome.worst << ", bytes " << bytes;
    }
  }
}
#endif
