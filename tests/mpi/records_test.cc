// Record variables, the number of records, and fill.
#include <pnetcdf.h>

#include <numeric>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

}  // namespace

TEST(Records, the_furthest_rank_sets_the_number_of_records) {
  const Sample s = create_sample();
  const Index start = {2 * world.rank, 0};
  const Index count = {2, 6};
  std::vector<int> values(12, world.rank);
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values.data()));
  EXPECT_EQ(MPI_Offset{2 * world.size}, records(s));
  std::vector<int> got(static_cast<size_t>(12 * world.size), -1);
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.series, got.data()));
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(static_cast<int>(i / 12), got[i]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, the_number_of_records_is_in_the_file_after_close) {
  Sample s = create_sample();
  const Index start = {4, 0};
  const Index count = {1, 6};
  const int values[6] = {};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  EXPECT_OK(ncmpi_close(s.ncid));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, no_info, &s.ncid));
  EXPECT_EQ(MPI_Offset{5}, records(s));
  // Appending to an opened file.
  const Index next = {5 + world.rank, 0};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, next.data(), count.data(), values));
  EXPECT_OK(ncmpi_close(s.ncid));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  EXPECT_EQ(MPI_Offset{5 + world.size}, records(s));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, records_written_alone_become_common) {
  const Sample s = create_sample();
  const int values[6] = {1, 2, 3, 4, 5, 6};
  const Index count = {1, 6};
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  if (world.rank == world.size - 1) {
    const Index start = {6, 0};
    EXPECT_OK(ncmpi_put_vara_int(s.ncid, s.series, start.data(), count.data(), values));
    EXPECT_EQ(MPI_Offset{7}, records(s));
  }
  EXPECT_OK(ncmpi_sync_numrecs(s.ncid));
  EXPECT_EQ(MPI_Offset{7}, records(s));
  if (world.rank == 0) {
    const Index start = {8, 0};
    EXPECT_OK(ncmpi_put_vara_int(s.ncid, s.series, start.data(), count.data(), values));
  }
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  EXPECT_EQ(MPI_Offset{9}, records(s));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, nonblocking_puts_add_records_when_completed) {
  const Sample s = create_sample();
  const int values[6] = {};
  const Index start = {world.rank, 0};
  const Index count = {1, 6};
  int id = NC_REQ_NULL;
  EXPECT_OK(ncmpi_iput_vara_int(s.ncid, s.series, start.data(), count.data(), values, &id));
  EXPECT_EQ(MPI_Offset{0}, records(s));
  EXPECT_OK(ncmpi_wait_all(s.ncid, 1, &id, nullptr));
  EXPECT_EQ(MPI_Offset{world.size}, records(s));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, whole_variable_calls_act_on_the_records_there_are) {
  const Sample s = create_sample();
  std::vector<int> values(18, 4);
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.series, values.data()));
  EXPECT_EQ(MPI_Offset{0}, records(s));
  const Index start = {2, 0};
  const Index count = {1, 6};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values.data()));
  values.assign(18, 8);
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.series, values.data()));
  EXPECT_EQ(MPI_Offset{3}, records(s));
  std::vector<int> got(18, -1);
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.series, got.data()));
  EXPECT_TRUE(got == values);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, stride_along_the_record_dimension) {
  if (!is_forebay()) return;  // the peer returns wrong values
  int id = -1;
  int time = -1;
  int var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &time));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 1, &time, &var));
  EXPECT_OK(ncmpi_enddef(id));
  const MPI_Offset start = 0;
  const MPI_Offset four = 4;
  const MPI_Offset two = 2;
  const int values[4] = {10, 11, 12, 13};
  EXPECT_OK(ncmpi_put_vara_int_all(id, var, &start, &four, values));
  int got[2] = {};
  EXPECT_OK(ncmpi_get_vars_int_all(id, var, &start, &two, &two, got));
  EXPECT_EQ(10, got[0]);
  EXPECT_EQ(12, got[1]);
  const int odd[2] = {21, 23};
  const MPI_Offset one = 1;
  EXPECT_OK(ncmpi_put_vars_int_all(id, var, &one, &two, &two, odd));
  int all[4] = {};
  EXPECT_OK(ncmpi_get_var_int_all(id, var, all));
  EXPECT_EQ(10, all[0]);
  EXPECT_EQ(21, all[1]);
  EXPECT_EQ(12, all[2]);
  EXPECT_EQ(23, all[3]);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Records, one_record_variable_is_packed_and_two_are_padded) {
  int id = -1;
  int dims[2] = {};
  int var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "x", 5, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "b", NC_BYTE, 2, dims, &var));
  EXPECT_OK(ncmpi_enddef(id));
  MPI_Offset size = 0;
  EXPECT_OK(ncmpi_inq_recsize(id, &size));
  EXPECT_EQ(MPI_Offset{5}, size);
  const Index start = {0, 0};
  const Index count = {3, 5};
  signed char values[15];
  for (int i = 0; i < 15; ++i) values[i] = static_cast<signed char>(i);
  EXPECT_OK(ncmpi_put_vara_schar_all(id, var, start.data(), count.data(), values));
  EXPECT_OK(ncmpi_redef(id));
  int second = -1;
  EXPECT_OK(ncmpi_def_var(id, "c", NC_BYTE, 2, dims, &second));
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_OK(ncmpi_inq_recsize(id, &size));
  EXPECT_EQ(MPI_Offset{16}, size);
  signed char got[15] = {};
  EXPECT_OK(ncmpi_get_vara_schar_all(id, var, start.data(), count.data(), got));
  for (int i = 0; i < 15; ++i) EXPECT_EQ(values[i], got[i]);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Records, an_empty_blocking_put_still_extends_the_records) {
  // As in PnetCDF: start + count is what counts.
  const Sample s = create_sample();
  const Index start = {5, 0};
  const Index count = {0, 6};
  const int value = 0;
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), &value));
  EXPECT_EQ(MPI_Offset{5}, records(s));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, new_fixed_variables_are_filled_at_enddef) {
  Sample s = create_sample(NC_64BIT_DATA, false);
  int old_mode = -1;
  EXPECT_OK(ncmpi_set_fill(s.ncid, NC_FILL, &old_mode));
  EXPECT_EQ(NC_NOFILL, old_mode);
  EXPECT_ERR(NC_EINVAL, ncmpi_set_fill(s.ncid, 1234, &old_mode));
  const float own = -1.5F;
  EXPECT_OK(ncmpi_def_var_fill(s.ncid, s.real, 0, &own));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_def_var_fill(s.ncid, 99, 0, nullptr));
  EXPECT_ERR(NC_EGLOBAL, ncmpi_def_var_fill(s.ncid, NC_GLOBAL, 0, nullptr));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  for (const int x : got) EXPECT_EQ(NC_FILL_INT, x);
  float real[6] = {};
  EXPECT_OK(ncmpi_get_var_float_all(s.ncid, s.real, real));
  for (const float x : real) EXPECT_EQ(own, x);
  char text[6] = {};
  EXPECT_OK(ncmpi_get_var_text_all(s.ncid, s.text, text));
  for (const char x : text) EXPECT_EQ(0, static_cast<int>(x));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, fill_modes_as_inquired) {
  const Sample s = create_sample(NC_64BIT_DATA, false);
  int no_fill = -1;
  int value = 0;
  EXPECT_OK(ncmpi_inq_var_fill(s.ncid, s.grid, &no_fill, &value));
  EXPECT_EQ(1, no_fill);
  EXPECT_EQ(NC_FILL_INT, value);
  EXPECT_OK(ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  EXPECT_OK(ncmpi_inq_var_fill(s.ncid, s.grid, &no_fill, nullptr));
  EXPECT_EQ(0, no_fill);
  EXPECT_OK(ncmpi_def_var_fill(s.ncid, s.grid, 1, nullptr));
  EXPECT_OK(ncmpi_inq_var_fill(s.ncid, s.grid, &no_fill, nullptr));
  EXPECT_EQ(1, no_fill);
  EXPECT_OK(ncmpi_inq_var_fill(s.ncid, s.tiny, &no_fill, nullptr));
  EXPECT_EQ(0, no_fill);
  EXPECT_ERR(NC_EGLOBAL, ncmpi_inq_var_fill(s.ncid, NC_GLOBAL, &no_fill, nullptr));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, fill_var_rec_fills_one_record) {
  const Sample s = create_sample(NC_64BIT_DATA, false);
  EXPECT_OK(ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  const int own = 77;
  EXPECT_OK(ncmpi_def_var_fill(s.ncid, s.series, 0, &own));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  int values[18];
  std::iota(values, values + 18, 0);
  const Index start = {0, 0};
  const Index count = {3, 6};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  EXPECT_OK(ncmpi_fill_var_rec(s.ncid, s.series, 1));
  EXPECT_EQ(MPI_Offset{3}, records(s));
  int got[18] = {};
  EXPECT_OK(ncmpi_get_vara_int_all(s.ncid, s.series, start.data(), count.data(), got));
  for (int i = 0; i < 18; ++i) EXPECT_EQ(i / 6 == 1 ? 77 : i, got[i]);
  EXPECT_OK(ncmpi_fill_var_rec(s.ncid, s.series, 4));
  EXPECT_EQ(MPI_Offset{5}, records(s));
  EXPECT_ERR(NC_ENOTRECVAR, ncmpi_fill_var_rec(s.ncid, s.grid, 0));
  if (is_forebay()) {
    EXPECT_ERR(NC_ENOTVAR, ncmpi_fill_var_rec(s.ncid, 99, 0));
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, fill_var_rec_needs_the_fill_mode) {
  const Sample s = create_sample();
  EXPECT_ERR(NC_ENOTFILL, ncmpi_fill_var_rec(s.ncid, s.series, 0));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, new_record_variables_are_filled_for_the_records_there_are) {
  Sample s = create_sample();
  const Index start = {3, 0};
  const Index count = {1, 6};
  const int values[6] = {};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_OK(ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  const int dims[2] = {s.time, s.x};
  int added = -1;
  EXPECT_OK(ncmpi_def_var(s.ncid, "added", NC_SHORT, 2, dims, &added));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  short got[24] = {};
  EXPECT_OK(ncmpi_get_var_short_all(s.ncid, added, got));
  for (const short x : got) EXPECT_EQ(-32767, static_cast<int>(x));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, fill_var_rec_takes_a_fill_value_for_the_fill_mode) {
  const Sample s = create_sample(NC_64BIT_DATA, false);
  const int own = 77;
  EXPECT_OK(ncmpi_put_att_int(s.ncid, s.series, "_FillValue", NC_INT, 1, &own));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  int no_fill = -1;
  EXPECT_OK(ncmpi_inq_var_fill(s.ncid, s.series, &no_fill, nullptr));
  EXPECT_EQ(1, no_fill);
  EXPECT_OK(ncmpi_fill_var_rec(s.ncid, s.series, 1));
  EXPECT_EQ(MPI_Offset{2}, records(s));
  const Index start = {1, 0};
  const Index count = {1, 6};
  int got[6] = {};
  EXPECT_OK(ncmpi_get_vara_int_all(s.ncid, s.series, start.data(), count.data(), got));
  for (const int x : got) EXPECT_EQ(77, x);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Records, fill_values_come_too_late_after_the_first_define_mode) {
  Sample s = create_sample(NC_64BIT_DATA, false);
  const int first = 7, second = 8;
  EXPECT_OK(ncmpi_def_var_fill(s.ncid, s.grid, 0, &first));
  EXPECT_OK(ncmpi_def_var_fill(s.ncid, s.grid, 0, &second));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  EXPECT_OK(ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 1, &first));  // it is there
  EXPECT_OK(ncmpi_redef(s.ncid));
  int added = -1;
  EXPECT_OK(ncmpi_def_var(s.ncid, "added", NC_INT, 1, &s.x, &added));
  EXPECT_ERR(NC_ELATEFILL, ncmpi_def_var_fill(s.ncid, s.grid, 0, &second));
  EXPECT_ERR(NC_ELATEFILL, ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 1, &second));
  EXPECT_ERR(NC_ELATEFILL, ncmpi_put_att_int(s.ncid, s.scalar, "_FillValue", NC_INT, 1, &second));
  const short narrow = 1;
  EXPECT_ERR(NC_EBADTYPE, ncmpi_put_att_short(s.ncid, s.grid, "_FillValue", NC_SHORT, 1, &narrow));
  EXPECT_OK(ncmpi_def_var_fill(s.ncid, s.grid, 0, nullptr));
  EXPECT_OK(ncmpi_def_var_fill(s.ncid, added, 0, &second));
  EXPECT_OK(ncmpi_copy_att(s.ncid, s.grid, "_FillValue", s.ncid, s.series));
  EXPECT_OK(ncmpi_put_att_int(s.ncid, NC_GLOBAL, "_FillValue", NC_INT, 1, &second));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  int value = 0;
  EXPECT_OK(ncmpi_get_att_int(s.ncid, s.grid, "_FillValue", &value));
  EXPECT_EQ(7, value);
  EXPECT_OK(ncmpi_close(s.ncid));
  // All variables of a file that is opened have left it.
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, MPI_INFO_NULL, &s.ncid));
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_ERR(NC_ELATEFILL, ncmpi_def_var_fill(s.ncid, added, 0, &first));
  EXPECT_OK(ncmpi_close(s.ncid));
}
