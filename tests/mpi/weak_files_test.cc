// client_caches=weak: what a node has kept of the files of a directory goes when they are closed,
// as it does of the file of definitions; and what nodes are to find is brought to the server. The
// program's own system calls, which the library finds before the C library's, tell.
#include <fcntl.h>
#include <pnetcdf.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"
#include "support/wings.h"

using namespace forebay_test;

namespace {

/// Of a file: that it was read or written last, or that what was kept of it went last; and that
/// what was written was not brought to the device since.
struct Uses {
  bool used = false, gone = false, dirty = false;
};
std::mutex noting;
std::map<std::string, Uses> uses;
std::string to_fail;  ///< the end of a path, of which a close fails
/// The end of a path, and how often this node is yet to take it for a file that another one has
/// removed.
std::string known;
int times_known = 0;

std::string path_of(int fd) {
  char name[PATH_MAX] = "";
  const auto link = "/proc/self/fd/" + std::to_string(fd);
  return ::readlink(link.c_str(), name, sizeof name - 1) <= 0 ? "" : name;
}

void note(int fd, bool goes) {
  const std::string path = path_of(fd);
  if (path.find(".nc/") == std::string::npos) return;
  // Who can only read cannot make all of it go.
  if (goes && (::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) return;
  const std::lock_guard lock(noting);
  Uses& its = uses[path.substr(path.rfind('/') + 1)];
  its.used |= !goes;
  its.gone = goes;
}

void note_dirty(int fd, bool dirty) {
  const std::string path = path_of(fd);
  const std::lock_guard lock(noting);
  uses[path.substr(path.rfind('/') + 1)].dirty = dirty;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  if (!known.empty() && (flags & O_EXCL) != 0 && std::string(path).ends_with(known) &&
      times_known-- > 0) {
    errno = EEXIST;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
__attribute__((visibility("default"))) ssize_t pread(int fd, void* to, size_t n, off_t at) {
  note(fd, false);
  return ::syscall(SYS_pread64, fd, to, n, at);
}
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* from, size_t n,
                                                      off_t at) {
  note(fd, false);
  note_dirty(fd, true);
  return ::syscall(SYS_pwrite64, fd, from, n, at);
}
__attribute__((visibility("default"))) ssize_t pwritev(int fd, const struct iovec* pieces, int n,
                                                       off_t at) {
  note(fd, false);
  note_dirty(fd, true);
  return ::syscall(SYS_pwritev, fd, pieces, n, at, 0);
}
__attribute__((visibility("default"))) int fsync(int fd) {
  note_dirty(fd, false);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
__attribute__((visibility("default"))) int close(int fd) {
  const bool fails = !to_fail.empty() && path_of(fd).ends_with(to_fail);
  const int code = static_cast<int>(::syscall(SYS_close, fd));
  if (!fails) return code;
  to_fail.clear();
  errno = EIO;
  return -1;
}
__attribute__((visibility("default"))) int posix_fadvise(int fd, off_t at, off_t n, int advice) {
  if (advice == POSIX_FADV_DONTNEED) note(fd, true);
  return static_cast<int>(::syscall(SYS_fadvise64, fd, at, n, advice));
}
}

namespace {

constexpr MPI_Offset columns = 64;

Hints hints_of(const std::string& layout, const std::string& caches) {
  return {{"container", "directory"}, {"layout", layout},     {"subfiling", "ranks"},
          {"subfile_ranks", "1"},     {"chunk_bytes", "256"}, {"client_caches", caches}};
}

int open_or_create(bool create, const Hints& hints) {
  int id = -1;
  const Info info(hints);
  if (!create) {
    EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, info, &id));
    return id;
  }
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &id));
  int x = -1, var = -1;
  EXPECT_OK(ncmpi_def_dim(id, "x", columns * world.size, &x));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  EXPECT_OK(ncmpi_enddef(id));
  return id;
}

/// Writes what is this rank's, if it is to, and reads a neighbour's.
void use(int id, int first, bool writes = true) {
  std::vector<int> mine(columns, first + world.rank), found(columns, -1);
  const MPI_Offset start = world.rank * columns, count = columns;
  const int neighbour = (world.rank + 1) % world.size;
  const MPI_Offset other = neighbour * columns;
  if (writes) {
    EXPECT_OK(ncmpi_put_vara_int_all(id, 0, &start, &count, mine.data()));
  }
  EXPECT_OK(ncmpi_get_vara_int_all(id, 0, &other, &count, found.data()));
  EXPECT_EQ(std::vector<int>(columns, first + neighbour), found);
}

}  // namespace

TEST(WeakFiles, in_a_directory_tell_of_errors_when_they_are_closed) {
  for (const std::string layout : {"chunked", "decomposed"}) {
    if (!is_built("layout", layout)) continue;
    for (const std::string file : {"0", "header.nc", layout == "chunked" ? "index" : "state"}) {
      for (const char* caches : {"weak", "coherent"}) {
        const int id = open_or_create(true, hints_of(layout, caches));
        use(id, 0);
        if (world.rank == 0) to_fail = ".nc/" + file;
        SCOPED_TRACE(layout + ", " + file + ", " + caches);
        EXPECT_ERR(NC_EWRITE, ncmpi_close(id));
        EXPECT_TRUE(to_fail.empty());
        EXPECT_OK(world.rank == 0 ? ncmpi_delete(world.path().c_str(), MPI_INFO_NULL) : NC_NOERR);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
  }
}

// As GlusterFS does for a second.
TEST(WeakFiles, names_of_removed_files_do_not_keep_data_files_from_being_made) {
  for (const std::string layout : {"chunked", "decomposed"}) {
    if (!is_built("layout", layout)) continue;
    if (world.rank == world.size - 1) {
      known = ".nc/" + std::to_string(world.rank);
      times_known = 2;
    }
    const int id = open_or_create(true, hints_of(layout, "weak"));
    use(id, 0);
    EXPECT_OK(ncmpi_close(id));
    EXPECT_LE(times_known, 0);
    known.clear();
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_OK(world.rank == 0 ? ncmpi_delete(world.path().c_str(), MPI_INFO_NULL) : NC_NOERR);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Another node's rank may read before anybody has written.
TEST(WeakFiles, of_decomposed_variables_are_at_the_server_when_they_are_defined) {
  if (!has_wing("decomposed")) return;
  for (const bool weak : {true, false}) {
    uses.clear();
    const int id = open_or_create(true, hints_of("decomposed", weak ? "weak" : "coherent"));
    EXPECT_NE(uses[std::to_string(world.rank)].dirty, weak);
    EXPECT_TRUE(world.rank > 0 || uses["state"].dirty != weak);
    EXPECT_OK(ncmpi_close(id));
    EXPECT_OK(world.rank == 0 ? ncmpi_delete(world.path().c_str(), MPI_INFO_NULL) : NC_NOERR);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(WeakFiles, in_a_directory_leave_nothing_behind_on_a_node) {
  for (const std::string layout : {"canonical", "chunked", "decomposed"}) {
    if (!is_built("layout", layout)) continue;
    for (const bool weak : {true, false}) {
      const Hints hints = hints_of(layout, weak ? "weak" : "coherent");
      // It is made, written again, and read by a program that might have written.
      for (const int session : {0, 1, 2}) {
        uses.clear();
        const int id = open_or_create(session == 0, hints);
        use(id, session == 0 ? 0 : 1000, session < 2);
        EXPECT_OK(ncmpi_close(id));
        MPI_Barrier(MPI_COMM_WORLD);
        const std::string own = std::to_string(world.rank),
                          other = std::to_string((world.rank + 1) % world.size);
        if (layout != "canonical") {
          EXPECT_TRUE(uses[own].used || session == 2);
          EXPECT_TRUE(uses[other].used);
          EXPECT_TRUE(world.rank > 0 || uses[layout == "chunked" ? "index" : "state"].used);
        }
        for (const auto& [name, its] : uses) {
          const bool right = !its.used || its.gone == weak;
          EXPECT_EQ(layout + ": " + name, right  ? layout + ": " + name
                                          : weak ? "is to go"
                                                 : "is to stay");
        }
      }
      // What the next one would look at before it removes it.
      EXPECT_OK(world.rank == 0 ? ncmpi_delete(world.path().c_str(), MPI_INFO_NULL) : NC_NOERR);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}
