// On a store with slow calls all groups of decomposed variables know that it is one when they write
// for the first time, however little any rank has written: their sections and roots are written at
// a time. The program's own system calls are the store.
#include <pnetcdf.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <string>
#include <thread>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

const auto program = std::this_thread::get_id();
std::atomic<int> beside = 0;  // writes by other threads

void take_time() {
  std::this_thread::sleep_for(std::chrono::microseconds(500));
  if (std::this_thread::get_id() != program) ++beside;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* from, size_t n,
                                                      off_t at) {
  take_time();
  return ::syscall(SYS_pwrite64, fd, from, n, at);
}
__attribute__((visibility("default"))) ssize_t pwritev(int fd, const struct iovec* pieces, int n,
                                                       off_t at) {
  take_time();
  return ::syscall(SYS_pwritev, fd, pieces, n, at, 0);
}
}

TEST(SlowGroups, know_of_it_when_they_write_for_the_first_time) {
  constexpr MPI_Offset columns = 64;
  const Info info(Hints{
      {"layout", "decomposed"}, {"subfiling", "ranks"}, {"subfile_ranks", "1"}, {"codec", "none"}});
  int id = -1, x = -1, var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "x", columns * world.size, &x));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_EQ(beside, 0);
  const std::vector<int> mine(columns, world.rank);
  const MPI_Offset start = world.rank * columns, count = columns;
  EXPECT_OK(ncmpi_put_vara_int_all(id, var, &start, &count, mine.data()));
  EXPECT_EQ(beside, 1);
  EXPECT_OK(ncmpi_close(id));
}
