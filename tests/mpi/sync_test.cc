// ncmpi_sync brings the name of a new file to the device: the rank that made the file syncs its
// folder, once. The program's own fsync, which the library finds before the C library's, tells.
#include <pnetcdf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "mpi/sample.h"
#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

namespace fs = std::filesystem;
using Folders = std::multiset<std::string>;

/// The folders that this process has synced.
std::mutex synced_mutex;
Folders synced;

Folders take_synced() {
  const std::lock_guard lock(synced_mutex);
  return std::exchange(synced, {});
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
  struct stat status {};
  char name[PATH_MAX] = "";
  const auto link = "/proc/self/fd/" + std::to_string(fd);
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) &&
      ::readlink(link.c_str(), name, sizeof name - 1) > 0) {
    const std::lock_guard lock(synced_mutex);
    synced.insert(name);
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace {

/// Returns the path without links of the folder of the test's file.
std::string folder() { return fs::canonical(fs::path(world.path()).parent_path()); }

/// Collective. Returns the folders that a sync of the file has synced on this rank.
Folders sync(const Sample& s) {
  take_synced();
  EXPECT_OK(ncmpi_sync(s.ncid));
  return take_synced();
}

/// Returns these folders on the rank that makes files, and none on others.
Folders on_maker(Folders folders) { return world.rank == 0 ? std::move(folders) : Folders(); }

}  // namespace

TEST(Sync, waits_once_for_the_name_of_a_new_file) {
  const Sample s = create_sample();
  EXPECT_EQ(sync(s), on_maker({folder()}));
  EXPECT_EQ(sync(s), Folders());
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Sync, what_is_never_synced_waits_for_no_folder) {
  take_synced();
  const Sample s = create_sample();
  EXPECT_OK(ncmpi_close(s.ncid));
  EXPECT_EQ(take_synced(), Folders());
}

TEST(Sync, waits_for_the_name_that_a_file_has_by_now) {
  const Sample s = create_sample();
  const std::string other = world.path("folder");
  if (world.rank == 0) {
    fs::create_directory(other);
    fs::rename(world.path(), other + "/moved.nc");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(sync(s), on_maker({fs::canonical(other)}));
  EXPECT_OK(ncmpi_close(s.ncid));
  if (world.rank == 0) fs::remove_all(other);
}

TEST(Sync, of_a_removed_file_waits_for_no_folder) {
  const Sample s = create_sample();
  if (world.rank == 0) fs::remove(world.path());
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(sync(s), Folders());
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Sync, waits_for_the_name_of_a_directory_and_of_what_is_in_it) {
  const Info info(Hints{{"container", "directory"}});
  const Sample s = create_sample(NC_64BIT_DATA, true, info);
  EXPECT_EQ(sync(s), on_maker({folder(), fs::canonical(world.path())}));
  EXPECT_EQ(sync(s), Folders());
  EXPECT_OK(ncmpi_close(s.ncid));
  if (world.rank == 0) fs::remove_all(world.path());
}
