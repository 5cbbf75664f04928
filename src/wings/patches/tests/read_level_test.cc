// A program that knows nothing of levels reads a coarser file, by the hint read_level.
#include <pnetcdf.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

constexpr MPI_Offset records = 2, nz = 11, ny = 27, nx = 34;
enum Var { rho, mask, x, number };

MPI_Offset coarse(MPI_Offset n, int level) { return ((n - 1) >> level) + 1; }

int open(int mode, int level, const std::string& path = world.path()) {
  const Info info(Hints{{"read_level", std::to_string(level)}});
  int ncid = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), mode, info, &ncid));
  return ncid;
}

// rho(time, z, y, x) in patches of 8³ with one coarser level, or as it is; mask(y, x); x(x); n.
void write(const Hints& hints, const std::string& path = world.path()) {
  const Info info(hints);
  int ncid = -1, t = -1, z = -1, y = -1, dx = -1, id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &ncid));
  EXPECT_OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &t));
  EXPECT_OK(ncmpi_def_dim(ncid, "z", nz, &z));
  EXPECT_OK(ncmpi_def_dim(ncid, "y", ny, &y));
  EXPECT_OK(ncmpi_def_dim(ncid, "x", nx, &dx));
  const int four[] = {t, z, y, dx}, two[] = {y, dx};
  EXPECT_OK(ncmpi_def_var(ncid, "rho", NC_FLOAT, 4, four, &id));
  EXPECT_OK(ncmpi_def_var(ncid, "mask", NC_INT, 2, two, &id));
  EXPECT_OK(ncmpi_def_var(ncid, "x", NC_DOUBLE, 1, &dx, &id));
  EXPECT_OK(ncmpi_def_var(ncid, "n", NC_INT, 0, nullptr, &id));
  EXPECT_OK(ncmpi_enddef(ncid));
  const MPI_Offset first = ny * world.rank / world.size, last = ny * (world.rank + 1) / world.size;
  const MPI_Offset start[] = {0, 0, first, 0}, count[] = {records, nz, last - first, nx};
  std::vector<float> values;
  for (MPI_Offset i = 0; i < records * nz; ++i)
    for (MPI_Offset j = first; j < last; ++j)
      for (MPI_Offset k = 0; k < nx; ++k)
        values.push_back(
            static_cast<float>(std::sin(0.1 * static_cast<double>((i * ny + j) * nx + k)) +
                               3.0 * static_cast<double>(i)));
  EXPECT_OK(ncmpi_put_vara_float_all(ncid, rho, start, count, values.data()));
  std::vector<int> cells(static_cast<size_t>(ny * nx));
  std::iota(cells.begin(), cells.end(), 0);
  EXPECT_OK(ncmpi_put_var_int_all(ncid, mask, cells.data()));
  std::vector<double> places(nx);
  for (MPI_Offset k = 0; k < nx; ++k) places[static_cast<size_t>(k)] = 0.5 * static_cast<double>(k);
  EXPECT_OK(ncmpi_put_var_double_all(ncid, x, places.data()));
  const int seven = 7;
  EXPECT_OK(ncmpi_put_var_int_all(ncid, number, &seven));
  EXPECT_OK(ncmpi_close(ncid));
}

const Hints patches{{"layout", "patches"}, {"codec", "shuffle,zstd:1"}, {"patch_edge", "8"}};

struct Shape {
  MPI_Offset z, y, x;
};

// What the functions for levels read.
std::vector<float> level_of(int level, const Shape& n) {
  const Info info(Hints{});
  int ncid = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, info, &ncid));
  std::vector<float> all(static_cast<size_t>(records * n.z * n.y * n.x));
  const MPI_Offset start[4] = {}, count[] = {records, n.z, n.y, n.x};
  EXPECT_OK(ncmpi_get_vara_level_all(ncid, rho, level, start, count, all.data(), -1, MPI_FLOAT));
  EXPECT_OK(ncmpi_close(ncid));
  return all;
}

class ReadLevel : public ::testing::Test {
 protected:
  void SetUp() override {
    write(patches);
    wanted_ = level_of(1, n_);
    ncid_ = open(NC_NOWRITE, 1);
  }
  void TearDown() override { EXPECT_OK(ncmpi_close(ncid_)); }

  float at(MPI_Offset t, MPI_Offset k, MPI_Offset j, MPI_Offset i) const {
    return wanted_[static_cast<size_t>(((t * n_.z + k) * n_.y + j) * n_.x + i)];
  }
  static int mask_at(MPI_Offset j, MPI_Offset i) { return static_cast<int>(2 * j * nx + 2 * i); }

  const Shape n_{coarse(nz, 1), coarse(ny, 1), coarse(nx, 1)};
  std::vector<float> wanted_;
  int ncid_ = -1;
};

TEST_F(ReadLevel, dimensions_are_those_of_the_level) {
  const MPI_Offset lengths[] = {records, n_.z, n_.y, n_.x};
  for (int d = 0; d < 4; ++d) {
    MPI_Offset length = -1;
    EXPECT_OK(ncmpi_inq_dimlen(ncid_, d, &length));
    EXPECT_EQ(lengths[d], length);
  }
  int levels = -1;
  MPI_Offset shape[4] = {};
  EXPECT_OK(ncmpi_inq_var_levels(ncid_, rho, 0, &levels, shape));
  EXPECT_EQ(0, levels);
  EXPECT_EQ(n_.y, shape[2]);
  // After a look at the file as well.
  EXPECT_OK(ncmpi_sync(ncid_));
  EXPECT_OK(ncmpi_inq_dimlen(ncid_, 0, shape));
  EXPECT_EQ(records, shape[0]);
}

TEST_F(ReadLevel, whole_variables_and_parts) {
  std::vector<float> all(wanted_.size());
  EXPECT_OK(ncmpi_get_var_float_all(ncid_, rho, all.data()));
  EXPECT_EQ(wanted_, all);
  std::vector<double> places(static_cast<size_t>(n_.x));
  EXPECT_OK(ncmpi_get_var_double_all(ncid_, x, places.data()));
  for (MPI_Offset i = 0; i < n_.x; ++i)
    EXPECT_EQ(static_cast<double>(i), places[static_cast<size_t>(i)]);
  int seven = 0;
  EXPECT_OK(ncmpi_get_var_int_all(ncid_, number, &seven));
  EXPECT_EQ(7, seven);
  // Each rank a row of its own, with a stride, as another type.
  const MPI_Offset j = world.rank % n_.y, start[] = {1, 2, j, 1}, count[] = {1, 2, 1, 5};
  const MPI_Offset stride[] = {1, 3, 1, 3};
  double part[10];
  EXPECT_OK(ncmpi_get_vars_double_all(ncid_, rho, start, count, stride, part));
  for (MPI_Offset k = 0; k < 2; ++k)
    for (MPI_Offset i = 0; i < 5; ++i) EXPECT_EQ(at(1, 2 + 3 * k, j, 1 + 3 * i), part[k * 5 + i]);
  // The last column, and one beyond it.
  const MPI_Offset last[] = {j, n_.x - 1}, beyond[] = {j, n_.x}, one[] = {1, 1};
  int value = -1;
  EXPECT_OK(ncmpi_get_vara_int_all(ncid_, mask, last, one, &value));
  EXPECT_EQ(mask_at(j, n_.x - 1), value);
  EXPECT_ERR(NC_EINVALCOORDS, ncmpi_get_vara_int_all(ncid_, mask, beyond, one, &value));
  // Transposed in memory.
  const MPI_Offset corner[] = {0, 0}, square[] = {3, 4}, imap[] = {1, 3};
  int turned[12];
  EXPECT_OK(ncmpi_get_varm_int_all(ncid_, mask, corner, square, nullptr, imap, turned));
  for (MPI_Offset i = 0; i < 12; ++i) EXPECT_EQ(mask_at(i % 3, i / 3), turned[i]);
}

TEST_F(ReadLevel, pieces_in_any_order_of_both_kinds_of_variables) {
  MPI_Offset a[] = {1, 3, 5, 2}, b[] = {0, 0, 1, 0}, ca[] = {1, 2, 2, 7}, cb[] = {1, 1, 1, n_.x};
  MPI_Offset* starts[] = {a, b};
  MPI_Offset* counts[] = {ca, cb};
  std::vector<float> values(static_cast<size_t>(28 + n_.x));
  EXPECT_OK(ncmpi_get_varn_float_all(ncid_, rho, 2, starts, counts, values.data()));
  for (MPI_Offset i = 0; i < 28; ++i)
    EXPECT_EQ(at(1, 3 + i / 14, 5 + i / 7 % 2, 2 + i % 7), values[static_cast<size_t>(i)]);
  for (MPI_Offset i = 0; i < n_.x; ++i)
    EXPECT_EQ(at(0, 0, 1, i), values[static_cast<size_t>(28 + i)]);
  MPI_Offset c[] = {4 + world.rank % 3, 3}, d[] = {0, 0}, cc[] = {2, 5}, cd[] = {2, n_.x};
  MPI_Offset* more[] = {c, d};
  MPI_Offset* sizes[] = {cc, cd};
  std::vector<int> cells(static_cast<size_t>(10 + 2 * n_.x));
  int request = -1, status = -1;
  EXPECT_OK(ncmpi_iget_varn_int(ncid_, mask, 2, more, sizes, cells.data(), &request));
  EXPECT_OK(ncmpi_wait_all(ncid_, 1, &request, &status));
  EXPECT_OK(status);
  for (MPI_Offset i = 0; i < 10; ++i)
    EXPECT_EQ(mask_at(c[0] + i / 5, 3 + i % 5), cells[static_cast<size_t>(i)]);
  for (MPI_Offset i = 0; i < 2 * n_.x; ++i)
    EXPECT_EQ(mask_at(i / n_.x, i % n_.x), cells[static_cast<size_t>(10 + i)]);
}

TEST_F(ReadLevel, each_rank_for_itself_and_by_file_types) {
  EXPECT_OK(ncmpi_begin_indep_data(ncid_));
  if (world.rank % 2 == 0) {
    const MPI_Offset start[] = {0, 1, 0, 0}, count[] = {2, 1, n_.y, n_.x};
    std::vector<float> plane(static_cast<size_t>(2 * n_.y * n_.x));
    EXPECT_OK(ncmpi_get_vara_float(ncid_, rho, start, count, plane.data()));
    EXPECT_EQ(at(1, 1, 2, 3), plane[static_cast<size_t>((n_.y + 2) * n_.x + 3)]);
  }
  EXPECT_OK(ncmpi_end_indep_data(ncid_));
  // Every other cell of the first row.
  MPI_Datatype cells = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 2, MPI_INT, &cells);
  MPI_Type_commit(&cells);
  int values[4] = {};
  EXPECT_OK(ncmpi_get_vard_all(ncid_, mask, cells, values, 4, MPI_INT));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(mask_at(0, 2 * i), values[i]);
  MPI_Type_free(&cells);
  // The first cell of each record.
  MPI_Offset record = 0;
  EXPECT_OK(ncmpi_inq_recsize(ncid_, &record));
  EXPECT_EQ(4 * n_.z * n_.y * n_.x, record);
  MPI_Type_create_hvector(2, 1, static_cast<MPI_Aint>(record), MPI_FLOAT, &cells);
  MPI_Type_commit(&cells);
  float firsts[2] = {};
  EXPECT_OK(ncmpi_get_vard_all(ncid_, rho, cells, firsts, 2, MPI_FLOAT));
  for (int t = 0; t < 2; ++t) EXPECT_EQ(at(t, 0, 0, 0), firsts[t]);
  MPI_Type_free(&cells);
}

TEST_F(ReadLevel, nobody_writes_it) {
  const MPI_Offset start[] = {0, 0}, count[] = {1, 1};
  const int value = 1;
  EXPECT_ERR(NC_EPERM, ncmpi_put_vara_int_all(ncid_, mask, start, count, &value));
  EXPECT_ERR(NC_EPERM, ncmpi_redef(ncid_));
  const Info info(Hints{{"read_level", "1"}});
  int other = -1;
  EXPECT_ERR(NC_EPERM, ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, info, &other));
  const Info beyond(Hints{{"read_level", "2"}});
  EXPECT_ERR(NC_EINVAL,
             ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, beyond, &other));
}

// A program with the hint for all its files writes others.
TEST(ReadLevelElsewhere, a_file_without_patches_is_what_it_is) {
  Hints hints{{"read_level", "3"}};
  write(hints);
  const int ncid = open(NC_WRITE, 3);
  MPI_Offset length = -1;
  EXPECT_OK(ncmpi_inq_dimlen(ncid, 3, &length));
  EXPECT_EQ(nx, length);
  EXPECT_OK(ncmpi_close(ncid));
}

}  // namespace
