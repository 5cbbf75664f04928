// Files that are not what they should be: truncated, damaged, foreign, unwritable, on a full disk.
//
// Whatever is wrong, every rank gets an error, the same one, and nothing crashes or hangs.
#include <pnetcdf.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/cases.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::ofstream(path, std::ios::binary) << bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}

// Opens a file that may be anything, looks at what it claims to hold, and closes it. Returns the
// code of open, which is the same on every rank.
int try_file(const std::string& path) {
  int id = -1;
  const int code = ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, no_info, &id);
  if (!same_on_all_ranks(code)) ADD_FAILURE() << "ranks disagree on ncmpi_open";
  if (code != NC_NOERR) return code;
  int nvars = 0;
  EXPECT_OK(ncmpi_inq_nvars(id, &nvars));
  for (int v = 0; v < nvars; ++v) {
    nc_type type = NC_NAT;
    int ndims = 0;
    int natts = 0;
    EXPECT_OK(ncmpi_inq_var(id, v, nullptr, &type, &ndims, nullptr, &natts));
    // One element: what lies beyond the end of the file is an error or zero, never a crash.
    std::vector<MPI_Offset> start(static_cast<size_t>(ndims) + 1, 0);
    char element[8];
    if (type == NC_CHAR) {
      ncmpi_get_var1_text_all(id, v, start.data(), element);
    } else {
      double value = 0;
      ncmpi_get_var1_double_all(id, v, start.data(), &value);
    }
  }
  ncmpi_close(id);
  return NC_NOERR;
}

// A small file with attributes, fixed-size and record variables, and its header's size.
std::string good_file(int mode, MPI_Offset* header_size) {
  Sample s = create_sample(mode, false);
  const double numbers[] = {1, 2, 3};
  EXPECT_OK(ncmpi_put_att_double(s.ncid, s.grid, "numbers", NC_DOUBLE, 3, numbers));
  EXPECT_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "title", 5, "hello"));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  const int values[24] = {1, 2, 3};
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  const Index start = {1, 0};
  const Index count = {1, 6};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  EXPECT_OK(ncmpi_inq_header_size(s.ncid, header_size));
  EXPECT_OK(ncmpi_close(s.ncid));
  MPI_Barrier(MPI_COMM_WORLD);
  return read_file(world.path());
}

// A directory that every user may enter, away from where the build may lie.
std::string open_directory() {
  char name[] = "/tmp/forebay-test-XXXXXX";
  if (world.rank == 0) {
    if (mkdtemp(name) == nullptr) ADD_FAILURE() << "no scratch directory";
    chmod(name, 0755);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  return name;
}

}  // namespace

TEST(BadFiles, headers_truncated_at_every_byte) {
  for (const int mode : {0, NC_64BIT_OFFSET, NC_64BIT_DATA}) {
    MPI_Offset size = 0;
    const std::string whole = good_file(mode, &size);
    const std::string path = world.path("cut");
    for (MPI_Offset n = 0; n < size; n = next_place<MPI_Offset>(n, 1, size)) {
      write_file(path, whole.substr(0, static_cast<size_t>(n)));
      const int code = try_file(path);
      if (code == NC_NOERR) {
        ADD_FAILURE() << "a header cut to " + std::to_string(n) + " bytes was accepted";
      }
    }
    if (world.rank == 0) unlink(path.c_str());
  }
}

TEST(BadFiles, header_bytes_of_all_ones_and_zero) {
  // Damage that leaves a legal header is accepted; the rest is refused, and nothing crashes.
  int refused = 0;
  for (const int mode : {0, NC_64BIT_DATA}) {
    MPI_Offset size = 0;
    const std::string whole = good_file(mode, &size);
    const std::string path = world.path("damaged");
    for (MPI_Offset n = 0; n < size; n = next_place<MPI_Offset>(n, 1, size)) {
      for (const char byte : {'\xff', '\0', '\x7f'}) {
        std::string copy = whole;
        copy[static_cast<size_t>(n)] = byte;
        write_file(path, copy);
        if (try_file(path) != NC_NOERR) ++refused;
      }
    }
    if (world.rank == 0) unlink(path.c_str());
  }
  EXPECT_TRUE(refused > few_of(100));
}

TEST(BadFiles, files_cut_within_the_data_open_and_do_not_crash) {
  MPI_Offset size = 0;
  const std::string whole = good_file(0, &size);
  const std::string path = world.path("cut");
  for (size_t n = static_cast<size_t>(size); n < whole.size(); n += 40) {
    write_file(path, whole.substr(0, n));
    try_file(path);
  }
  if (world.rank == 0) unlink(path.c_str());
}

TEST(BadFiles, files_of_other_kinds) {
  const std::string path = world.path("other");
  for (const std::string& content :
       {std::string("plain text that is no dataset"), std::string("CDF\3 and more, and more"),
        std::string("CDF"), std::string(1000, '\0'), std::string(1000, '\xff')}) {
    write_file(path, content);
    EXPECT_ERR(NC_ENOTNC, try_file(path));
  }
  // An HDF5 file is known for what it is, and cannot be read here.
  write_file(path, std::string("\211HDF\r\n\032\n") + std::string(1000, '\0'));
  EXPECT_TRUE(try_file(path) != NC_NOERR);
  write_file(path, "");
  EXPECT_TRUE(try_file(path) != NC_NOERR);
  if (world.rank == 0) unlink(path.c_str());
}

TEST(BadFiles, a_file_without_write_permission) {
  const std::string directory = open_directory();
  const std::string path = directory + "/readonly.nc";
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), 0, no_info, &id));
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    chmod(path.c_str(), 0444);
    chmod(directory.c_str(), 0555);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const uid_t user = geteuid();
  const bool dropped = user == 0 && seteuid(65534) == 0;  // root may write anywhere
  const int write_code = ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_WRITE, no_info, &id);
  EXPECT_ERR(NC_EACCESS, write_code);
  if (write_code == NC_NOERR) ncmpi_close(id);
  const int create_code =
      ncmpi_create(MPI_COMM_WORLD, (directory + "/new.nc").c_str(), 0, no_info, &id);
  EXPECT_ERR(NC_EACCESS, create_code);
  if (create_code == NC_NOERR) ncmpi_close(id);
  const int read_code = ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, no_info, &id);
  EXPECT_OK(read_code);
  if (read_code == NC_NOERR) {
    EXPECT_OK(ncmpi_close(id));
  }
  if (dropped && seteuid(user) != 0) ADD_FAILURE() << "cannot become root again";
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    unlink(path.c_str());
    rmdir(directory.c_str());
  }
}

TEST(BadFiles, a_full_device) {
  if (!is_forebay()) return;  // the peer reports some of these errors only on some ranks
  // Through a link, so that nothing can remove the device itself.
  const std::string path = world.path("full");
  if (world.rank == 0) {
    unlink(path.c_str());
    if (symlink("/dev/full", path.c_str()) != 0) ADD_FAILURE() << "no link to /dev/full";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int id = -1;
  int code = ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, no_info, &id);
  EXPECT_TRUE(same_on_all_ranks(code));
  int first = code;
  if (code == NC_NOERR) {
    int var = -1;
    EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 0, nullptr, &var));
    code = ncmpi_enddef(id);
    EXPECT_TRUE(same_on_all_ranks(code));
    if (first == NC_NOERR) first = code;
    const int value = 1;
    if (code == NC_NOERR) first = ncmpi_put_var_int_all(id, var, &value);
    code = ncmpi_close(id);
    if (first == NC_NOERR) first = code;
  }
  EXPECT_ERR(NC_ENO_SPACE, first);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) unlink(path.c_str());
}

// A name in /dev is somebody else's.
TEST(BadFiles, a_device_stays_when_its_file_is_abandoned) {
  if (!is_forebay()) return;
  const std::string path = world.path("device");
  int made = 0;
  if (world.rank == 0) {
    unlink(path.c_str());
    made = mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0 ? 1 : 0;
    if (made == 0) std::printf("no device may be made here: not shown that one stays\n");
  }
  MPI_Bcast(&made, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (made == 0) return;
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_abort(id));
  MPI_Barrier(MPI_COMM_WORLD);
  struct stat found {};
  EXPECT_EQ(lstat(path.c_str(), &found), 0);
  EXPECT_TRUE(S_ISCHR(found.st_mode));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) unlink(path.c_str());
}

TEST(BadFiles, a_full_file_system) {
  if (!is_forebay()) return;
  const std::string directory = world.path("tmpfs");
  int mounted = 0;
  if (world.rank == 0) {
    mkdir(directory.c_str(), 0755);
    mounted = mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=256k") == 0 ? 1 : 0;
    if (mounted == 0) std::printf("no tmpfs may be mounted here; the injected ENOSPC covers it\n");
  }
  MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (mounted != 0) {
    const std::string path = directory + "/file.nc";
    int id = -1;
    int dim = -1;
    int small = -1;
    int large = -1;
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_64BIT_DATA, no_info, &id));
    EXPECT_OK(ncmpi_def_var(id, "small", NC_INT, 0, nullptr, &small));
    EXPECT_OK(ncmpi_def_dim(id, "n", 1 << 20, &dim));
    EXPECT_OK(ncmpi_def_var(id, "large", NC_INT, 1, &dim, &large));
    EXPECT_OK(ncmpi_enddef(id));
    const int value = 42;
    EXPECT_OK(ncmpi_put_var_int_all(id, small, &value));
    EXPECT_OK(ncmpi_sync(id));
    const MPI_Offset count = (1 << 20) / world.size;
    const MPI_Offset start = world.rank * count;
    const std::vector<int> values(static_cast<size_t>(count), 7);
    int code = ncmpi_put_vara_int_all(id, large, &start, &count, values.data());
    EXPECT_ERR(NC_ENO_SPACE, code);
    int request = NC_REQ_NULL;
    EXPECT_OK(ncmpi_iput_vara_int(id, large, &start, &count, values.data(), &request));
    int status = NC_NOERR;
    code = ncmpi_wait_all(id, 1, &request, &status);
    EXPECT_TRUE(code != NC_NOERR || status != NC_NOERR);
    ncmpi_close(id);
    // What was there is still there.
    EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, no_info, &id));
    int got = 0;
    EXPECT_OK(ncmpi_get_var_int_all(id, small, &got));
    EXPECT_EQ(42, got);
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == 0) umount2(directory.c_str(), MNT_DETACH);
  }
  if (world.rank == 0) rmdir(directory.c_str());
}
