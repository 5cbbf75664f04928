// What ranks hear of another rank's error: its number, its host and what it met. FOREBAY_FAULT must
// be set, to anything.
#include <forebay.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

constexpr int culprit = 1;
constexpr MPI_Offset rows = 64, columns = 64;

bool is_culprit() { return world.rank == culprit; }

std::string culprit_on_its_host() {
  std::array<char, 256> host{};
  EXPECT_EQ(0, ::gethostname(host.data(), host.size() - 1));
  return "rank " + std::to_string(culprit) + " on " + host.data() + ": ";
}

void expect_named(int code, const char* what) {
  EXPECT_TRUE(code != NC_NOERR);
  const std::string told = forebay_error_message();
  const bool named = told.find(culprit_on_its_host()) != std::string::npos;
  EXPECT_TRUE(is_culprit() || named) << told;
  EXPECT_TRUE(told.find(what) != std::string::npos) << told;
}

int create(const Hints& hints, int* var) {
  int id = -1, dims[2];
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA,
                         Info(hints), &id));
  EXPECT_OK(ncmpi_def_dim(id, "row", rows, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "column", columns * world.size, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "x", NC_DOUBLE, 2, dims, var));
  return id;
}

// All but so many of each rank's columns.
int put(int id, int var, MPI_Offset less) {
  const std::vector<double> values(static_cast<size_t>(rows * columns), 1.5);
  const MPI_Offset start[] = {0, columns * world.rank}, count[] = {rows, columns - less};
  return ncmpi_put_vara_double_all(id, var, start, count, values.data());
}

}  // namespace

// Chunks that are put together from what is there are read round by round.
TEST(NamedRanks, of_chunks_that_a_rank_cannot_encode_in_a_later_round) {
  const Hints hints = {{"layout", "chunked"}, {"codec", "shuffle,zstd:1"}, {"buffer_limit", "32k"}};
  int var = -1;
  int id = create(hints, &var);
  const MPI_Offset shape[] = {4, columns * world.size};
  EXPECT_OK(ncmpi_var_set_chunk(id, var, shape));
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_OK(put(id, var, 0));
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, Info(hints), &id));
  if (is_culprit()) ::setenv("FOREBAY_FAULT", "pread:rank=1:call=2:from:errno=EIO", 1);
  const int code = put(id, var, 1);
  ::setenv("FOREBAY_FAULT", "none", 1);
  EXPECT_ERR(NC_EREAD, code);
  expect_named(code, "Input/output error");
  EXPECT_OK(ncmpi_close(id));
}

TEST(NamedRanks, of_requests_that_are_pending_when_a_file_is_closed) {
  int var = -1;
  const int id = create({}, &var);
  EXPECT_OK(ncmpi_enddef(id));
  const std::vector<double> values(static_cast<size_t>(rows * columns), 2);
  const MPI_Offset start[] = {0, columns * world.rank}, count[] = {rows, columns};
  int request = NC_REQ_NULL;
  if (is_culprit()) {
    EXPECT_OK(ncmpi_iput_vara_double(id, var, start, count, values.data(), &request));
  }
  const int code = ncmpi_close(id);
  EXPECT_ERR(NC_EPENDING, code);
  expect_named(code, "pending");
}

TEST(NamedRanks, of_arguments_that_are_wrong_in_safe_mode) {
  ::setenv("PNETCDF_SAFE_MODE", "1", 1);
  int var = -1, dim = -1;
  const int id = create({}, &var);
  const int code = ncmpi_def_dim(id, "length", is_culprit() ? -3 : 3, &dim);
  ::unsetenv("PNETCDF_SAFE_MODE");
  EXPECT_TRUE(code != NC_NOERR);
  expect_named(code, "length");
  EXPECT_OK(ncmpi_close(id));
}
