// container=directory: a folder that programs take as one file.
#include <pnetcdf.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"
#include "support/wings.h"

using namespace forebay_test;

namespace {

namespace fs = std::filesystem;

constexpr MPI_Offset columns = 64, records = 7;

enum class Kind { nothing, file, folder };

Kind kind_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return Kind::nothing;
  return S_ISDIR(status.st_mode) ? Kind::folder : Kind::file;
}

// Behind a meeting, so that all ranks see what rank 0 did.
template <typename F>
void on_root(F&& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) f();
  MPI_Barrier(MPI_COMM_WORLD);
}

Hints hints_of(const std::string& container, const std::string& layout) {
  return {{"container", container}, {"layout", layout}};
}

std::vector<int> values_of(int rank, MPI_Offset record) {
  std::vector<int> values(columns);
  for (int i = 0; i < columns; ++i)
    values[static_cast<size_t>(i)] = 1000 * rank + i + 100000 * static_cast<int>(record);
  return values;
}

int create(int mode, MPI_Info info) {
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), mode | NC_64BIT_DATA, info, &id));
  return id;
}

void write(int id, int var, MPI_Offset first, MPI_Offset last) {
  for (MPI_Offset record = first; record < last; ++record) {
    const auto mine = values_of(world.rank, record);
    const MPI_Offset start[] = {record, world.rank * columns}, count[] = {1, columns};
    EXPECT_OK(ncmpi_put_vara_int_all(id, var, start, count, mine.data()));
  }
}

void make(MPI_Info info, int mode = NC_CLOBBER) {
  const int id = create(mode, info);
  int time = -1, x = -1, var = -1;
  EXPECT_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &time));
  EXPECT_OK(ncmpi_def_dim(id, "x", columns * world.size, &x));
  const int dims[] = {time, x};
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 2, dims, &var));
  EXPECT_OK(ncmpi_enddef(id));
  write(id, var, 0, records);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
}

void expect_values(MPI_Offset many) {
  int id = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &id));
  MPI_Offset found_records = -1;
  EXPECT_OK(ncmpi_inq_dimlen(id, 0, &found_records));
  EXPECT_EQ(many, found_records);
  const int neighbour = (world.rank + 1) % world.size;  // what another rank wrote
  for (MPI_Offset record = 0; record < many; ++record) {
    std::vector<int> found(columns, -1);
    const MPI_Offset start[] = {record, neighbour * columns}, count[] = {1, columns};
    EXPECT_OK(ncmpi_get_vara_int_all(id, 0, start, count, found.data()));
    EXPECT_EQ(values_of(neighbour, record), found);
  }
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

TEST(Directory, is_written_opened_extended_and_removed_as_a_file_in_every_layout) {
  for (const std::string layout : {"canonical", "chunked", "decomposed"}) {
    if (!is_built("layout", layout)) continue;
    const Info settings(hints_of("directory", layout));
    make(settings, NC_NOCLOBBER);
    EXPECT_TRUE(kind_of(world.path()) == Kind::folder);
    EXPECT_TRUE(kind_of(world.path() + "/header.nc") == Kind::file);
    EXPECT_TRUE((kind_of(world.path() + "/state") == Kind::file) == (layout == "decomposed"));
    EXPECT_TRUE((kind_of(world.path() + "/index") == Kind::file) == (layout == "chunked"));
    EXPECT_TRUE((kind_of(world.path() + "/0") == Kind::file) == (layout != "canonical"));
    EXPECT_TRUE(kind_of(world.path() + ".subfiles") == Kind::nothing);
    expect_values(records);

    int format = -1, id = -1;
    EXPECT_OK(ncmpi_inq_file_format(world.path().c_str(), &format));
    EXPECT_EQ(NC_FORMAT_CDF5, format);
    EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, MPI_INFO_NULL, &id));
    write(id, 0, records, 2 * records);
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
    expect_values(2 * records);

    EXPECT_ERR(NC_EEXIST,
               ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_NOCLOBBER, settings, &id));
    make(settings);  // in place of it
    expect_values(records);
    on_root([&] { EXPECT_OK(ncmpi_delete(world.path().c_str(), MPI_INFO_NULL)); });
    EXPECT_TRUE(kind_of(world.path()) == Kind::nothing);
  }
}

TEST(Directory, and_files_take_the_place_of_each_other) {
  for (const std::string layout : {"canonical", "decomposed"}) {
    if (!is_built("layout", layout)) continue;
    for (const bool to_folder : {true, false, true}) {
      make(Info(hints_of(to_folder ? "directory" : "classic", layout)));
      EXPECT_TRUE(kind_of(world.path()) == (to_folder ? Kind::folder : Kind::file));
      const bool beside = !to_folder && layout == "decomposed";
      EXPECT_TRUE((kind_of(world.path() + ".subfiles") == Kind::folder) == beside);
      expect_values(records);
    }
    on_root([&] { EXPECT_OK(ncmpi_delete(world.path().c_str(), MPI_INFO_NULL)); });
  }
}

TEST(Directory, leaves_other_folders_alone) {
  if (!has_wing("decomposed")) return;
  const Info settings(hints_of("directory", "decomposed"));
  const std::string path = world.path(), other = path + "/notes";
  on_root([&] {
    fs::remove_all(path);
    fs::create_directory(path);
  });
  int id = -1;
  EXPECT_ERR(NC_EEXIST, ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_NOCLOBBER, settings, &id));
  make(settings);  // an empty one serves
  on_root([&] { std::ofstream(other) << "mine"; });
  // It is no longer ours alone: nothing of it goes.
  for (const std::string container : {"directory", "classic"}) {
    const Info clobber(hints_of(container, "decomposed"));
    const int code = ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, clobber, &id);
    EXPECT_EQ(error_name(container == "directory" ? NC_EEXIST : NC_EFILE), error_name(code));
  }
  on_root([&] {
    EXPECT_EQ(-91, ncmpi_delete(path.c_str(), MPI_INFO_NULL));  // netCDF's NC_ECANTREMOVE
  });
  EXPECT_TRUE(kind_of(other) == Kind::file);
  expect_values(records);
  on_root([&] {
    fs::remove(other);
    EXPECT_OK(ncmpi_delete(path.c_str(), MPI_INFO_NULL));
  });
  EXPECT_TRUE(kind_of(path) == Kind::nothing);
  // A file of that name in a folder of somebody's.
  on_root([&] {
    fs::create_directory(path);
    std::ofstream(other) << "mine";
  });
  const std::string inside = path + "/header.nc";
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, inside.c_str(), NC_CLOBBER,
                         Info(hints_of("classic", "decomposed")), &id));
  int x = -1, var = -1;
  EXPECT_OK(ncmpi_def_dim(id, "x", 64 * world.size, &x));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  EXPECT_ERR(NC_EEXIST, ncmpi_enddef(id));
  EXPECT_OK(ncmpi_abort(id));
  EXPECT_TRUE(kind_of(other) == Kind::file);
  on_root([&] { fs::remove_all(path); });
  // Chunks whose definitions were replaced.
  make(Info(hints_of("directory", "canonical")));
  on_root([&] { fs::copy_file(inside, path + ".plain"); });
  make(Info(hints_of("directory", "chunked")));
  on_root([&] { fs::rename(path + ".plain", inside); });
  MPI_Barrier(MPI_COMM_WORLD);
  const auto bytes = [&] {
    std::ifstream in(path + "/0", std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  const std::string before = bytes();
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_WRITE, settings, &id));
  EXPECT_OK(ncmpi_redef(id));
  EXPECT_OK(ncmpi_def_dim(id, "y", 64 * world.size, &x));
  EXPECT_OK(ncmpi_def_var(id, "w", NC_INT, 1, &x, &var));
  EXPECT_ERR(NC_EEXIST, ncmpi_enddef(id));
  EXPECT_TRUE(before == bytes());
  EXPECT_ERR(NC_EEXIST, ncmpi_enddef(id));  // what the first one left is no leave
  EXPECT_OK(ncmpi_abort(id));
  EXPECT_TRUE(before == bytes());
  on_root([&] { fs::remove_all(path); });
}

// Beside a plain file lies what looks like a directory without definitions.
TEST(Directory, is_not_what_holds_the_values_of_a_file_beside_it) {
  if (!has_wing("decomposed")) return;
  const std::string path = world.path(), folder = path + ".subfiles", link = path + ".link";
  on_root([&] { fs::remove_all(folder); });
  make(Info(hints_of("classic", "decomposed")));
  on_root([&] {
    fs::remove(link);
    fs::create_directory_symlink(folder, link);
  });
  const auto refused = [](int code, const std::string& at) {
    EXPECT_EQ(at + ": refused", at + (code == NC_EFILE || code == NC_EACCESS || code == NC_EEXIST
                                          ? ": refused"
                                          : ": " + error_name(code)));
  };
  for (const std::string& at : {folder, folder + "/", folder + "/.", link}) {
    for (const std::string container : {"directory", "classic"}) {
      int id = -1;
      refused(ncmpi_create(MPI_COMM_WORLD, at.c_str(), NC_CLOBBER,
                           Info(hints_of(container, "decomposed")), &id),
              at);
      expect_values(records);
    }
    if (at == link) continue;
    on_root([&] { refused(ncmpi_delete(at.c_str(), MPI_INFO_NULL), at); });
    expect_values(records);
  }
  on_root([&] {
    EXPECT_OK(ncmpi_delete(link.c_str(), MPI_INFO_NULL));  // of a link the link goes
    EXPECT_TRUE(kind_of(link) == Kind::nothing);
  });
  expect_values(records);
  on_root([&] { EXPECT_OK(ncmpi_delete(path.c_str(), MPI_INFO_NULL)); });
  EXPECT_TRUE(kind_of(folder) == Kind::nothing);
}

TEST(Directory, that_a_kill_left_is_taken_and_removed) {
  const std::string path = world.path();
  const auto remains = [&](const std::string& name) { return kind_of(path + "/" + name); };
  for (const std::string layout : {"canonical", "chunked", "decomposed"}) {
    if (!is_built("layout", layout)) continue;
    const Info settings(hints_of("directory", layout));
    // Ahead of the definitions; with an empty file of them, as an enddef that was killed has it;
    // without them, which no kill but a power failure leaves.
    for (const std::string left : {"nothing", "no definitions", "data files"}) {
      if (left == "data files" && layout == "canonical") continue;
      const auto leave = [&] {
        on_root([&] { fs::remove_all(path); });
        if (left != "nothing") make(settings);
        on_root([&] {
          if (left == "nothing") fs::create_directory(path);
          if (left == "data files") fs::remove(path + "/header.nc");
          if (left == "no definitions") fs::resize_file(path + "/header.nc", 0);
        });
      };
      int id = -1;
      leave();
      EXPECT_ERR(NC_EEXIST,
                 ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_NOCLOBBER, settings, &id));
      make(settings);
      expect_values(records);
      // By another layout's files nothing of these is taken for its own.
      leave();
      make(Info(hints_of("directory", "canonical")));
      for (const char* name : {"state", "index", "0"}) EXPECT_TRUE(remains(name) == Kind::nothing);
      expect_values(records);
      leave();
      on_root([&] { EXPECT_OK(ncmpi_delete(path.c_str(), MPI_INFO_NULL)); });
      EXPECT_TRUE(kind_of(path) == Kind::nothing);
      // A file in its place: only in that of a folder with definitions.
      leave();
      const Info file(hints_of("classic", "canonical"));
      if (left != "no definitions") {
        EXPECT_ERR(NC_EFILE, ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, file, &id));
        EXPECT_TRUE(kind_of(path) == Kind::folder);
      } else {
        make(file);
        EXPECT_TRUE(kind_of(path) == Kind::file);
        expect_values(records);
      }
      // Somebody's things: nothing goes.
      leave();
      on_root([&] { std::ofstream(path + "/notes") << "mine"; });
      EXPECT_ERR(NC_EEXIST, ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, settings, &id));
      on_root([&] { EXPECT_TRUE(ncmpi_delete(path.c_str(), MPI_INFO_NULL) != NC_NOERR); });
      EXPECT_TRUE(remains("notes") == Kind::file);
      EXPECT_TRUE((remains("0") == Kind::file) == (left != "nothing" && layout != "canonical"));
    }
  }
  on_root([&] { fs::remove_all(path); });
}
