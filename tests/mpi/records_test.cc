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

TEST_CASE(the_furthest_rank_sets_the_number_of_records) {
  const Sample s = create_sample(t);
  const Index start = {2 * t.rank(), 0};
  const Index count = {2, 6};
  std::vector<int> values(12, t.rank());
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values.data()));
  CHECK_EQ(MPI_Offset{2 * t.size()}, records(t, s));
  std::vector<int> got(static_cast<size_t>(12 * t.size()), -1);
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.series, got.data()));
  for (size_t i = 0; i < got.size(); ++i) CHECK_EQ(static_cast<int>(i / 12), got[i]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(the_number_of_records_is_in_the_file_after_close) {
  Sample s = create_sample(t);
  const Index start = {4, 0};
  const Index count = {1, 6};
  const int values[6] = {};
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  CHECK_OK(ncmpi_close(s.ncid));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_WRITE, no_info, &s.ncid));
  CHECK_EQ(MPI_Offset{5}, records(t, s));
  // Appending to an opened file.
  const Index next = {5 + t.rank(), 0};
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, next.data(), count.data(), values));
  CHECK_OK(ncmpi_close(s.ncid));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  CHECK_EQ(MPI_Offset{5 + t.size()}, records(t, s));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(records_written_alone_become_common) {
  const Sample s = create_sample(t);
  const int values[6] = {1, 2, 3, 4, 5, 6};
  const Index count = {1, 6};
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  if (t.rank() == t.size() - 1) {
    const Index start = {6, 0};
    CHECK_OK(ncmpi_put_vara_int(s.ncid, s.series, start.data(), count.data(), values));
    CHECK_EQ(MPI_Offset{7}, records(t, s));
  }
  CHECK_OK(ncmpi_sync_numrecs(s.ncid));
  CHECK_EQ(MPI_Offset{7}, records(t, s));
  if (t.rank() == 0) {
    const Index start = {8, 0};
    CHECK_OK(ncmpi_put_vara_int(s.ncid, s.series, start.data(), count.data(), values));
  }
  CHECK_OK(ncmpi_end_indep_data(s.ncid));
  CHECK_EQ(MPI_Offset{9}, records(t, s));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(nonblocking_puts_add_records_when_completed) {
  const Sample s = create_sample(t);
  const int values[6] = {};
  const Index start = {t.rank(), 0};
  const Index count = {1, 6};
  int id = NC_REQ_NULL;
  CHECK_OK(ncmpi_iput_vara_int(s.ncid, s.series, start.data(), count.data(), values, &id));
  CHECK_EQ(MPI_Offset{0}, records(t, s));
  CHECK_OK(ncmpi_wait_all(s.ncid, 1, &id, nullptr));
  CHECK_EQ(MPI_Offset{t.size()}, records(t, s));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(whole_variable_calls_act_on_the_records_there_are) {
  const Sample s = create_sample(t);
  std::vector<int> values(18, 4);
  CHECK_OK(ncmpi_put_var_int_all(s.ncid, s.series, values.data()));
  CHECK_EQ(MPI_Offset{0}, records(t, s));
  const Index start = {2, 0};
  const Index count = {1, 6};
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values.data()));
  values.assign(18, 8);
  CHECK_OK(ncmpi_put_var_int_all(s.ncid, s.series, values.data()));
  CHECK_EQ(MPI_Offset{3}, records(t, s));
  std::vector<int> got(18, -1);
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.series, got.data()));
  CHECK(got == values);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(stride_along_the_record_dimension) {
  if (!is_forebay()) return;  // the peer returns wrong values
  int id = -1;
  int time = -1;
  int var = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), NC_CLOBBER, no_info, &id));
  CHECK_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &time));
  CHECK_OK(ncmpi_def_var(id, "v", NC_INT, 1, &time, &var));
  CHECK_OK(ncmpi_enddef(id));
  const MPI_Offset start = 0;
  const MPI_Offset four = 4;
  const MPI_Offset two = 2;
  const int values[4] = {10, 11, 12, 13};
  CHECK_OK(ncmpi_put_vara_int_all(id, var, &start, &four, values));
  int got[2] = {};
  CHECK_OK(ncmpi_get_vars_int_all(id, var, &start, &two, &two, got));
  CHECK_EQ(10, got[0]);
  CHECK_EQ(12, got[1]);
  const int odd[2] = {21, 23};
  const MPI_Offset one = 1;
  CHECK_OK(ncmpi_put_vars_int_all(id, var, &one, &two, &two, odd));
  int all[4] = {};
  CHECK_OK(ncmpi_get_var_int_all(id, var, all));
  CHECK_EQ(10, all[0]);
  CHECK_EQ(21, all[1]);
  CHECK_EQ(12, all[2]);
  CHECK_EQ(23, all[3]);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(one_record_variable_is_packed_and_two_are_padded) {
  int id = -1;
  int dims[2] = {};
  int var = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), NC_CLOBBER, no_info, &id));
  CHECK_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]));
  CHECK_OK(ncmpi_def_dim(id, "x", 5, &dims[1]));
  CHECK_OK(ncmpi_def_var(id, "b", NC_BYTE, 2, dims, &var));
  CHECK_OK(ncmpi_enddef(id));
  MPI_Offset size = 0;
  CHECK_OK(ncmpi_inq_recsize(id, &size));
  CHECK_EQ(MPI_Offset{5}, size);
  const Index start = {0, 0};
  const Index count = {3, 5};
  signed char values[15];
  for (int i = 0; i < 15; ++i) values[i] = static_cast<signed char>(i);
  CHECK_OK(ncmpi_put_vara_schar_all(id, var, start.data(), count.data(), values));
  CHECK_OK(ncmpi_redef(id));
  int second = -1;
  CHECK_OK(ncmpi_def_var(id, "c", NC_BYTE, 2, dims, &second));
  CHECK_OK(ncmpi_enddef(id));
  CHECK_OK(ncmpi_inq_recsize(id, &size));
  CHECK_EQ(MPI_Offset{16}, size);
  signed char got[15] = {};
  CHECK_OK(ncmpi_get_vara_schar_all(id, var, start.data(), count.data(), got));
  for (int i = 0; i < 15; ++i) CHECK_EQ(values[i], got[i]);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(an_empty_blocking_put_still_extends_the_records) {
  // As in PnetCDF: start + count is what counts.
  const Sample s = create_sample(t);
  const Index start = {5, 0};
  const Index count = {0, 6};
  const int value = 0;
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), &value));
  CHECK_EQ(MPI_Offset{5}, records(t, s));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(new_fixed_variables_are_filled_at_enddef) {
  Sample s = create_sample(t, NC_64BIT_DATA, false);
  int old_mode = -1;
  CHECK_OK(ncmpi_set_fill(s.ncid, NC_FILL, &old_mode));
  CHECK_EQ(NC_NOFILL, old_mode);
  CHECK_ERR(NC_EINVAL, ncmpi_set_fill(s.ncid, 1234, &old_mode));
  const float own = -1.5F;
  CHECK_OK(ncmpi_def_var_fill(s.ncid, s.real, 0, &own));
  CHECK_ERR(NC_ENOTVAR, ncmpi_def_var_fill(s.ncid, 99, 0, nullptr));
  CHECK_ERR(NC_EGLOBAL, ncmpi_def_var_fill(s.ncid, NC_GLOBAL, 0, nullptr));
  CHECK_OK(ncmpi_enddef(s.ncid));
  int got[24] = {};
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  for (const int x : got) CHECK_EQ(NC_FILL_INT, x);
  float real[6] = {};
  CHECK_OK(ncmpi_get_var_float_all(s.ncid, s.real, real));
  for (const float x : real) CHECK_EQ(own, x);
  char text[6] = {};
  CHECK_OK(ncmpi_get_var_text_all(s.ncid, s.text, text));
  for (const char x : text) CHECK_EQ(0, static_cast<int>(x));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(fill_modes_as_inquired) {
  const Sample s = create_sample(t, NC_64BIT_DATA, false);
  int no_fill = -1;
  int value = 0;
  CHECK_OK(ncmpi_inq_var_fill(s.ncid, s.grid, &no_fill, &value));
  CHECK_EQ(1, no_fill);
  CHECK_EQ(NC_FILL_INT, value);
  CHECK_OK(ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  CHECK_OK(ncmpi_inq_var_fill(s.ncid, s.grid, &no_fill, nullptr));
  CHECK_EQ(0, no_fill);
  CHECK_OK(ncmpi_def_var_fill(s.ncid, s.grid, 1, nullptr));
  CHECK_OK(ncmpi_inq_var_fill(s.ncid, s.grid, &no_fill, nullptr));
  CHECK_EQ(1, no_fill);
  CHECK_OK(ncmpi_inq_var_fill(s.ncid, s.tiny, &no_fill, nullptr));
  CHECK_EQ(0, no_fill);
  CHECK_ERR(NC_EGLOBAL, ncmpi_inq_var_fill(s.ncid, NC_GLOBAL, &no_fill, nullptr));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(fill_var_rec_fills_one_record) {
  const Sample s = create_sample(t, NC_64BIT_DATA, false);
  CHECK_OK(ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  const int own = 77;
  CHECK_OK(ncmpi_def_var_fill(s.ncid, s.series, 0, &own));
  CHECK_OK(ncmpi_enddef(s.ncid));
  int values[18];
  std::iota(values, values + 18, 0);
  const Index start = {0, 0};
  const Index count = {3, 6};
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  CHECK_OK(ncmpi_fill_var_rec(s.ncid, s.series, 1));
  CHECK_EQ(MPI_Offset{3}, records(t, s));
  int got[18] = {};
  CHECK_OK(ncmpi_get_vara_int_all(s.ncid, s.series, start.data(), count.data(), got));
  for (int i = 0; i < 18; ++i) CHECK_EQ(i / 6 == 1 ? 77 : i, got[i]);
  CHECK_OK(ncmpi_fill_var_rec(s.ncid, s.series, 4));
  CHECK_EQ(MPI_Offset{5}, records(t, s));
  CHECK_ERR(NC_ENOTRECVAR, ncmpi_fill_var_rec(s.ncid, s.grid, 0));
  if (is_forebay()) CHECK_ERR(NC_ENOTVAR, ncmpi_fill_var_rec(s.ncid, 99, 0));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(fill_var_rec_needs_the_fill_mode) {
  const Sample s = create_sample(t);
  CHECK_ERR(NC_ENOTFILL, ncmpi_fill_var_rec(s.ncid, s.series, 0));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(new_record_variables_are_filled_for_the_records_there_are) {
  Sample s = create_sample(t);
  const Index start = {3, 0};
  const Index count = {1, 6};
  const int values[6] = {};
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  CHECK_OK(ncmpi_redef(s.ncid));
  CHECK_OK(ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  const int dims[2] = {s.time, s.x};
  int added = -1;
  CHECK_OK(ncmpi_def_var(s.ncid, "added", NC_SHORT, 2, dims, &added));
  CHECK_OK(ncmpi_enddef(s.ncid));
  short got[24] = {};
  CHECK_OK(ncmpi_get_var_short_all(s.ncid, added, got));
  for (const short x : got) CHECK_EQ(-32767, static_cast<int>(x));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(fill_var_rec_takes_a_fill_value_for_the_fill_mode) {
  const Sample s = create_sample(t, NC_64BIT_DATA, false);
  const int own = 77;
  CHECK_OK(ncmpi_put_att_int(s.ncid, s.series, "_FillValue", NC_INT, 1, &own));
  CHECK_OK(ncmpi_enddef(s.ncid));
  int no_fill = -1;
  CHECK_OK(ncmpi_inq_var_fill(s.ncid, s.series, &no_fill, nullptr));
  CHECK_EQ(1, no_fill);
  CHECK_OK(ncmpi_fill_var_rec(s.ncid, s.series, 1));
  CHECK_EQ(MPI_Offset{2}, records(t, s));
  const Index start = {1, 0};
  const Index count = {1, 6};
  int got[6] = {};
  CHECK_OK(ncmpi_get_vara_int_all(s.ncid, s.series, start.data(), count.data(), got));
  for (const int x : got) CHECK_EQ(77, x);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(fill_values_come_too_late_after_the_first_define_mode) {
  Sample s = create_sample(t, NC_64BIT_DATA, false);
  const int first = 7, second = 8;
  CHECK_OK(ncmpi_def_var_fill(s.ncid, s.grid, 0, &first));
  CHECK_OK(ncmpi_def_var_fill(s.ncid, s.grid, 0, &second));
  CHECK_OK(ncmpi_enddef(s.ncid));
  CHECK_OK(ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 1, &first));  // it is there
  CHECK_OK(ncmpi_redef(s.ncid));
  int added = -1;
  CHECK_OK(ncmpi_def_var(s.ncid, "added", NC_INT, 1, &s.x, &added));
  CHECK_ERR(NC_ELATEFILL, ncmpi_def_var_fill(s.ncid, s.grid, 0, &second));
  CHECK_ERR(NC_ELATEFILL, ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 1, &second));
  CHECK_ERR(NC_ELATEFILL, ncmpi_put_att_int(s.ncid, s.scalar, "_FillValue", NC_INT, 1, &second));
  const short narrow = 1;
  CHECK_ERR(NC_EBADTYPE, ncmpi_put_att_short(s.ncid, s.grid, "_FillValue", NC_SHORT, 1, &narrow));
  CHECK_OK(ncmpi_def_var_fill(s.ncid, s.grid, 0, nullptr));
  CHECK_OK(ncmpi_def_var_fill(s.ncid, added, 0, &second));
  CHECK_OK(ncmpi_copy_att(s.ncid, s.grid, "_FillValue", s.ncid, s.series));
  CHECK_OK(ncmpi_put_att_int(s.ncid, NC_GLOBAL, "_FillValue", NC_INT, 1, &second));
  CHECK_OK(ncmpi_enddef(s.ncid));
  int value = 0;
  CHECK_OK(ncmpi_get_att_int(s.ncid, s.grid, "_FillValue", &value));
  CHECK_EQ(7, value);
  CHECK_OK(ncmpi_close(s.ncid));
  // All variables of a file that is opened have left it.
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_WRITE, MPI_INFO_NULL, &s.ncid));
  CHECK_OK(ncmpi_redef(s.ncid));
  CHECK_ERR(NC_ELATEFILL, ncmpi_def_var_fill(s.ncid, added, 0, &first));
  CHECK_OK(ncmpi_close(s.ncid));
}
