// Ranks that define different things.
//
// Rank 0's definitions are the file's, and nobody hears of the difference. What PNETCDF_SAFE_MODE=1
// changes is in safe_mode_test.cc.
#include <pnetcdf.h>

#include <string>

#include "mpi/sample.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

struct Definitions {
  const char* dim_name = "x";
  MPI_Offset length = 5;
  bool second_dim = true;
  const char* var_name = "v";
  nc_type type = NC_FLOAT;
  int ndims = 1;
  const char* att_name = "a";
  int att_value = 8;
};

// Collective. Returns the first error of any call of this rank.
int define(int id, const Definitions& d) {
  int dims[2] = {};
  int var = -1;
  int first = NC_NOERR;
  const auto note = [&](int code) {
    if (first == NC_NOERR) first = code;
  };
  note(ncmpi_def_dim(id, d.dim_name, d.length, &dims[0]));
  if (d.second_dim) note(ncmpi_def_dim(id, "y", 3, &dims[1]));
  note(ncmpi_def_var(id, d.var_name, d.type, d.ndims, dims, &var));
  note(ncmpi_put_att_int(id, NC_GLOBAL, d.att_name, NC_INT, 1, &d.att_value));
  note(ncmpi_enddef(id));
  return first;
}

void check_root_wins(const Definitions& others) {
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(define(id, world.rank == 0 ? Definitions{} : others));
  // Each rank works on with what is in the file.
  const MPI_Offset start = 0;
  const MPI_Offset count = world.rank == 0 ? 5 : 0;
  const float values[5] = {1, 2, 3, 4, 5};
  EXPECT_OK(ncmpi_put_vara_float_all(id, 0, &start, &count, values));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &id));
  MPI_Offset length = 0;
  EXPECT_OK(ncmpi_inq_dimlen(id, 0, &length));
  EXPECT_EQ(MPI_Offset{5}, length);
  nc_type type = NC_NAT;
  char name[NC_MAX_NAME + 1] = "";
  EXPECT_OK(ncmpi_inq_var(id, 0, name, &type, nullptr, nullptr, nullptr));
  EXPECT_EQ(std::string("v"), std::string(name));
  EXPECT_EQ(NC_FLOAT, type);
  int value = 0;
  EXPECT_OK(ncmpi_get_att_int(id, NC_GLOBAL, "a", &value));
  EXPECT_EQ(8, value);
  float got[5] = {};
  EXPECT_OK(ncmpi_get_var_float_all(id, 0, got));
  EXPECT_EQ(5.0F, got[4]);
  EXPECT_OK(ncmpi_close(id));
}

}  // namespace

TEST(Consistency, rank_zero_decides_the_length_of_a_dimension) {
  // The others see the file's length once define mode has ended.
  Definitions others;
  others.length = 7;
  if (is_forebay()) check_root_wins(others);
}

TEST(Consistency, rank_zero_decides_the_names) {
  Definitions others;
  others.dim_name = "xx";
  if (is_forebay()) check_root_wins(others);
  others = Definitions{};
  others.var_name = "w";
  if (is_forebay()) check_root_wins(others);
}

TEST(Consistency, rank_zero_decides_the_type) {
  Definitions others;
  others.type = NC_DOUBLE;
  if (is_forebay()) check_root_wins(others);
}

TEST(Consistency, rank_zero_decides_the_attributes) {
  Definitions others;
  others.att_value = 9;
  check_root_wins(others);
  others = Definitions{};
  others.att_name = "b";
  check_root_wins(others);
}

TEST(Consistency, a_dimension_too_few) {
  Definitions others;
  others.second_dim = false;
  check_root_wins(others);
}

TEST(Consistency, paths_that_differ) {
  // Only rank 0's path counts where the others name another file.
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string path = world.rank == 0 ? world.path("missing") : world.path();
  EXPECT_ERR(NC_ENOENT, ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, no_info, &id));
}
