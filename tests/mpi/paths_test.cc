// A file is the file that was opened: whatever folder the program goes to, and whatever the file is
// called by then.
#include <pnetcdf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
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

constexpr MPI_Offset width = 6000, records = 2;

/// How a file is stored and written, and what lies beside it.
struct Way {
  const char* name;
  Hints hints;
  bool has_folder = false;  // FILE.subfiles
  bool is_later = false;    // a thread makes it: it cannot be renamed at once
};

const Way ways[] = {
    {"default", {}},
    {"memory", {{"stage", "memory"}}},
    {"async", {{"stage", "async"}}},
    {"burst", {{"stage", "burst"}}},
    {"posix", {{"transport", "posix"}}},
    {"aggregated", {{"transport", "aggregated"}, {"window_size", "4096"}}},
    {"messages", {{"transport", "aggregated"}, {"exchange", "message"}, {"ranks_per_node", "1"}}},
    {"independent", {{"transport", "independent"}}},
    {"collective", {{"transport", "collective"}}},
    {"chunked", {{"layout", "chunked"}, {"chunk_bytes", "4096"}}},
    {"bundle", {{"bundle", "paths"}}},
    {"bundle later", {{"bundle", "later"}, {"bundle_create", "later"}}, false, true},
    {"decomposed",
     {{"layout", "decomposed"}, {"subfiling", "ranks"}, {"subfile_ranks", "1"}},
     true},
    {"chunk files",
     {{"container", "directory"},
      {"layout", "chunked"},
      {"subfiling", "ranks"},
      {"subfile_ranks", "1"},
      {"chunk_bytes", "4096"}}},
    {"patches", {{"layout", "patches"}, {"subfiling", "ranks"}, {"subfile_ranks", "1"}}, true},
    {"directory", {{"container", "directory"}, {"layout", "decomposed"}}},
};

bool sets(const Way& way, const std::string& key) {
  return std::any_of(way.hints.begin(), way.hints.end(),
                     [&](const auto& hint) { return hint.first == key; });
}

/// Collective. Rank 0 does it, the others find it done.
template <typename F>
void on_root(F&& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) f();
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Two folders, which ranks go to, and back in the end.
class Folders {
 public:
  Folders() : back_(fs::current_path()), top_(fs::absolute(world.path("d"))) {
    on_root([&] {
      fs::remove_all(top_);
      for (const char* name : {"one", "two"}) fs::create_directories(top_ / name);
    });
  }
  ~Folders() {
    go(back_);
    on_root([&] { fs::remove_all(top_); });
  }
  std::string at(const std::string& name) const { return top_ / name; }
  void enter(const std::string& name) const { go(top_ / name); }

 private:
  static void go(const fs::path& path) {
    EXPECT_EQ(::chdir(path.c_str()), 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  fs::path back_, top_;
};

std::vector<int> values_of(int seed, int part) {
  std::vector<int> values(width);
  for (int i = 0; i < width; ++i)
    values[static_cast<size_t>(i)] = 1'000'000 * seed + 10'000 * world.rank + 100'000 * part + i;
  return values;
}

struct Open {
  int id = -1, fixed = -1, in_records = -1;
};

int create_at(const std::string& path, const Way& way, int mode = NC_CLOBBER) {
  int id = -1;
  const Info info(way.hints);
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), mode | NC_64BIT_DATA, info, &id));
  return id;
}

Open define(int id) {
  Open file{id};
  int time = -1, x = -1;
  EXPECT_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &time));
  EXPECT_OK(ncmpi_def_dim(id, "x", width * world.size, &x));
  const int dims[] = {time, x};
  EXPECT_OK(ncmpi_def_var(id, "fixed", NC_INT, 1, &x, &file.fixed));
  EXPECT_OK(ncmpi_def_var(id, "records", NC_INT, 2, dims, &file.in_records));
  return file;
}

void write(const Open& file, int seed) {
  const MPI_Offset at = width * world.rank;
  EXPECT_OK(ncmpi_put_vara_int_all(file.id, file.fixed, &at, &width, values_of(seed, 0).data()));
  for (MPI_Offset record = 0; record < records; ++record) {
    const auto values = values_of(seed, static_cast<int>(record) + 1);
    const MPI_Offset start[] = {record, at}, count[] = {1, width};
    EXPECT_OK(ncmpi_put_vara_int_all(file.id, file.in_records, start, count, values.data()));
  }
}

Open open_at(const std::string& path, const Way& way, int mode = NC_NOWRITE) {
  Open file;
  const Info info(way.hints);
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), mode, info, &file.id));
  EXPECT_OK(ncmpi_inq_varid(file.id, "fixed", &file.fixed));
  EXPECT_OK(ncmpi_inq_varid(file.id, "records", &file.in_records));
  return file;
}

void expect_values(const Open& file, int seed) {
  const MPI_Offset at = width * world.rank;
  std::vector<int> found(width, -1);
  EXPECT_OK(ncmpi_get_vara_int_all(file.id, file.fixed, &at, &width, found.data()));
  EXPECT_TRUE(found == values_of(seed, 0)) << "fixed begins with " << found[0];
  for (MPI_Offset record = 0; record < records; ++record) {
    const MPI_Offset start[] = {record, at}, count[] = {1, width};
    found.assign(width, -1);
    EXPECT_OK(ncmpi_get_vara_int_all(file.id, file.in_records, start, count, found.data()));
    EXPECT_TRUE(found == values_of(seed, static_cast<int>(record) + 1))
        << "record " << record << " begins with " << found[0];
  }
}

/// Collective, by the path alone.
void expect_file(const std::string& path, int seed) {
  const Open file = open_at(path, {});
  expect_values(file, seed);
  EXPECT_OK(ncmpi_close(file.id));
}

void make(const std::string& path, const Way& way, int seed) {
  const Open file = define(create_at(path, way));
  EXPECT_OK(ncmpi_enddef(file.id));
  write(file, seed);
  EXPECT_OK(ncmpi_close(file.id));
}

/// A file with all that lies beside it.
void rename(const Way& way, const std::string& from, const std::string& to) {
  fs::rename(from, to);
  if (way.has_folder && is_forebay()) fs::rename(from + ".subfiles", to + ".subfiles");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename F>
void each_way(F&& f) {
  for (const Way& way : ways) {
    if (!are_built(way.hints)) continue;
    SCOPED_TRACE(way.name);
    const bool failed = ::testing::Test::HasFailure();
    f(way);
    if (::testing::Test::HasFailure() && !failed) std::fprintf(stderr, "way: %s\n", way.name);
  }
}

}  // namespace

TEST(PathsTest, files_of_one_name_in_two_folders_keep_their_own_values) {
  each_way([](const Way& way) {
    const Folders folders;
    folders.enter("one");
    const Open first = define(create_at("out.nc", way));
    EXPECT_OK(ncmpi_enddef(first.id));
    folders.enter("two");
    const Open second = define(create_at("out.nc", way));
    EXPECT_OK(ncmpi_enddef(second.id));
    write(first, 1);
    write(second, 2);
    EXPECT_OK(ncmpi_close(first.id));
    EXPECT_OK(ncmpi_close(second.id));
    expect_file(folders.at("one/out.nc"), 1);
    expect_file(folders.at("two/out.nc"), 2);
  });
}

TEST(PathsTest, a_file_stays_where_it_was_made) {
  each_way([](const Way& way) {
    const Folders folders;
    folders.enter("one");
    const int id = create_at("out.nc", way);
    folders.enter("two");
    Open file = define(id);
    EXPECT_OK(ncmpi_enddef(id));
    write(file, 3);
    EXPECT_OK(ncmpi_redef(id));
    EXPECT_OK(ncmpi_put_att_text(id, NC_GLOBAL, "note", 5, "later"));
    EXPECT_OK(ncmpi_enddef(id));
    char path[4096] = "";
    int length = 0;
    EXPECT_OK(ncmpi_inq_path(id, &length, path));
    EXPECT_STREQ(path, "out.nc");
    EXPECT_EQ(length, 6);
    if (is_forebay()) {  // PnetCDF opens it by its path again
      EXPECT_OK(ncmpi_sync(id));
      EXPECT_OK(ncmpi_begin_indep_data(id));
      const MPI_Offset at = width * world.rank;
      EXPECT_OK(ncmpi_put_vara_int(id, file.fixed, &at, &width, values_of(3, 0).data()));
      EXPECT_OK(ncmpi_end_indep_data(id));
    }
    EXPECT_OK(ncmpi_close(id));
    expect_file(folders.at("one/out.nc"), 3);
    EXPECT_TRUE(fs::is_empty(folders.at("two")));
    // Every name is looked for in the folder that the program is in.
    int again = -1;
    EXPECT_ERR(NC_ENOENT, ncmpi_open(MPI_COMM_WORLD, "out.nc", NC_NOWRITE, MPI_INFO_NULL, &again));
    folders.enter("one");
    expect_file("out.nc", 3);
  });
}

TEST(PathsTest, a_report_is_where_the_program_was_when_the_file_was_made) {
  if (!is_forebay()) return;
  const Folders folders;
  folders.enter("one");
  ::setenv("FOREBAY_REPORT", "json:report", 1);
  const Open file = define(create_at("out.nc", {}));
  ::unsetenv("FOREBAY_REPORT");
  EXPECT_OK(ncmpi_enddef(file.id));
  folders.enter("two");
  EXPECT_OK(ncmpi_close(file.id));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(text_of(folders.at("one/report")).empty());
  EXPECT_FALSE(fs::exists(folders.at("two/report")));
}

TEST(PathsTest, a_renamed_file_is_written_on) {
  each_way([](const Way& way) {
    if (way.is_later) return;
    const Folders folders;
    const Open file = define(create_at(folders.at("a.nc"), way));
    EXPECT_OK(ncmpi_enddef(file.id));
    on_root([&] { rename(way, folders.at("a.nc"), folders.at("b.nc")); });
    write(file, 4);
    EXPECT_OK(ncmpi_close(file.id));
    EXPECT_FALSE(fs::exists(folders.at("a.nc")));
    expect_file(folders.at("b.nc"), 4);
  });
}

TEST(PathsTest, what_lies_beside_a_renamed_file_follows_it) {
  each_way([](const Way& way) {
    if (way.is_later) return;
    const Folders folders;
    const std::string name = folders.at("one/a.nc");
    std::string later = folders.at("two/b.nc");
    const Open file = define(create_at(name, way));
    EXPECT_OK(ncmpi_enddef(file.id));
    on_root([&] {
      fs::rename(name, later);
      std::ofstream(name) << "another program's";
    });
    write(file, 13);
    if (is_forebay()) {  // PnetCDF opens it by its path again
      EXPECT_OK(ncmpi_sync(file.id));
      on_root([&] { fs::rename(later, folders.at("b.nc")); });
      later = folders.at("b.nc");
      write(file, 14);
    }
    EXPECT_OK(ncmpi_close(file.id));
    expect_file(later, is_forebay() ? 14 : 13);
    EXPECT_EQ(text_of(name), "another program's");
    EXPECT_FALSE(fs::exists(name + ".subfiles"));
    EXPECT_EQ(fs::exists(later + ".subfiles"), way.has_folder && is_forebay());
  });
}

TEST(PathsTest, a_folder_that_has_the_new_name_already_is_left_alone) {
  if (!is_forebay()) return;
  each_way([](const Way& way) {
    if (!way.has_folder) return;
    const Folders folders;
    const std::string name = folders.at("a.nc"), later = folders.at("b.nc");
    const Open file = define(create_at(name, way));
    EXPECT_OK(ncmpi_enddef(file.id));
    on_root([&] {
      fs::rename(name, later);
      fs::create_directory(later + ".subfiles");
      std::ofstream(later + ".subfiles/0") << "another file's";
    });
    write(file, 14);
    EXPECT_ERR(NC_EEXIST, ncmpi_close(file.id));
    EXPECT_EQ(text_of(later + ".subfiles/0"), "another file's");
    on_root([&] {
      fs::remove_all(later + ".subfiles");
      fs::rename(name + ".subfiles", later + ".subfiles");
    });
    expect_file(later, 14);
  });
}

TEST(PathsTest, a_pipe_is_no_place_for_a_file) {
  each_way([](const Way& way) {
    if (way.is_later || sets(way, "container")) return;
    const Folders folders;
    const std::string name = folders.at("a.nc");
    on_root([&] { EXPECT_EQ(::mkfifo(name.c_str(), 0666), 0); });
    int id = -1;
    const Info info(way.hints);
    EXPECT_ERR(NC_EFILE, ncmpi_create(MPI_COMM_WORLD, name.c_str(), NC_CLOBBER, info, &id));
    EXPECT_TRUE(fs::is_fifo(name));
    EXPECT_FALSE(fs::exists(name + ".subfiles"));
    MPI_Barrier(MPI_COMM_WORLD);
  });
}

// Thousands of ranks would open it, and never use it.
TEST(PathsTest, who_makes_a_data_file_does_not_open_the_main_file) {
  if (!is_forebay()) return;
  each_way([](const Way& way) {
    if (!sets(way, "subfiling")) return;
    Way lean = way;
    lean.hints.emplace_back("transport", "aggregated");
    const Folders folders;
    const Open file = define(create_at(folders.at("a.nc"), lean));
    EXPECT_OK(ncmpi_enddef(file.id));
    for (const auto& open : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const fs::path path = fs::read_symlink(open, gone);
      const bool is_main = path == folders.at("a.nc") || path == folders.at("a.nc/header.nc");
      EXPECT_FALSE(is_main && world.rank > 0) << way.name;
    }
    EXPECT_OK(ncmpi_close(file.id));
  });
}

TEST(PathsTest, a_file_that_took_its_name_is_left_alone) {
  each_way([](const Way& way) {
    if (way.is_later) return;
    const Folders folders;
    const std::string old = folders.at("old.nc"), name = folders.at("a.nc");
    make(old, {}, 5);
    const std::string before = text_of(old);
    const Open file = define(create_at(name, way));
    EXPECT_OK(ncmpi_enddef(file.id));
    on_root([&] {
      rename(way, name, folders.at("two/b.nc"));
      fs::copy(old, name);
    });
    write(file, 6);
    EXPECT_OK(ncmpi_close(file.id));
    expect_file(folders.at("two/b.nc"), 6);
    EXPECT_TRUE(text_of(name) == before);
  });
}

TEST(PathsTest, reading_goes_on_in_other_folders_and_after_renames) {
  each_way([](const Way& way) {
    const Folders folders;
    make(folders.at("one/in.nc"), way, 7);
    make(folders.at("two/in.nc"), way, 8);
    folders.enter("one");
    const Open first = open_at("in.nc", {});
    folders.enter("two");
    const Open second = open_at("in.nc", {}, NC_WRITE);
    on_root([&] {
      rename(way, folders.at("two/in.nc"), folders.at("two/to.nc"));
      fs::copy(folders.at("one/in.nc"), folders.at("two/in.nc"), fs::copy_options::recursive);
    });
    expect_values(first, 7);
    expect_values(second, 8);
    write(second, 9);
    expect_values(second, 9);
    EXPECT_OK(ncmpi_close(first.id));
    EXPECT_OK(ncmpi_close(second.id));
    expect_file(folders.at("one/in.nc"), 7);
    expect_file(folders.at("two/to.nc"), 9);
  });
}

// PnetCDF removes whatever has the name.
TEST(PathsTest, abandoning_a_file_removes_no_other) {
  if (!is_forebay()) return;
  each_way([](const Way& way) {
    const Folders folders;
    const std::string name = folders.at("one/out.nc");
    folders.enter("one");
    int id = create_at("out.nc", way);
    folders.enter("two");
    make("out.nc", {}, 10);
    EXPECT_OK(ncmpi_abort(id));
    EXPECT_FALSE(fs::exists(name));
    expect_file("out.nc", 10);
    if (way.is_later) return;
    folders.enter("one");
    id = create_at("out.nc", way);
    on_root([&] {
      fs::rename(name, folders.at("one/renamed.nc"));
      fs::copy(folders.at("two/out.nc"), name);
    });
    EXPECT_OK(ncmpi_abort(id));
    expect_file(name, 10);
    EXPECT_FALSE(fs::exists(folders.at("one/renamed.nc")));
  });
}

// PnetCDF opens what each rank finds.
TEST(PathsTest, ranks_in_different_folders_have_the_file_of_rank_0) {
  if (!is_forebay()) return;
  each_way([](const Way& way) {
    const Folders folders;
    make(folders.at("two/out.nc"), {}, 11);
    const std::string before = text_of(folders.at("two/out.nc"));
    EXPECT_EQ(::chdir(folders.at(world.rank == 0 ? "one" : "two").c_str()), 0);
    const Open file = define(create_at("out.nc", way));
    EXPECT_OK(ncmpi_enddef(file.id));
    write(file, 12);
    EXPECT_OK(ncmpi_close(file.id));
    const Open again = open_at("out.nc", {});
    expect_values(again, 12);
    EXPECT_OK(ncmpi_close(again.id));
    expect_file(folders.at("one/out.nc"), 12);
    EXPECT_TRUE(text_of(folders.at("two/out.nc")) == before);
  });
}
