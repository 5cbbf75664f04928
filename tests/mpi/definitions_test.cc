// Dimensions, variables, names and inquiries.
#include <pnetcdf.h>

#include <cstring>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

int create(Context& t, int mode) {
  int id = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), NC_CLOBBER | mode, no_info, &id));
  return id;
}

}  // namespace

TEST_CASE(names_that_are_not_allowed) {
  const int id = create(t, 0);
  const std::string longest(NC_MAX_NAME, 'q');
  const std::string too_long(NC_MAX_NAME + 1, 'q');
  for (const char* bad : {"", "a/b", "ab ", " ab", "-ab", "a\tb", "\xff\xfe", "a\x7f"}) {
    CHECK_ERR(NC_EBADNAME, ncmpi_def_dim(id, bad, 10, nullptr));
    int var = -1;
    CHECK_ERR(NC_EBADNAME, ncmpi_def_var(id, bad, NC_INT, 0, nullptr, &var));
    const int value = 1;
    CHECK_ERR(NC_EBADNAME, ncmpi_put_att_int(id, NC_GLOBAL, bad, NC_INT, 1, &value));
  }
  CHECK_ERR(NC_EBADNAME, ncmpi_def_dim(id, nullptr, 10, nullptr));
  CHECK_ERR(NC_EMAXNAME, ncmpi_def_dim(id, too_long.c_str(), 10, nullptr));
  int dims = 0;
  for (const char* good : {"a b", "1ab", "_ab", "\xc3\xa9t\xc3\xa9", "a+b.c@d:e"}) {
    int dim = -1;
    CHECK_OK(ncmpi_def_dim(id, good, 10, &dim));
    CHECK_EQ(dims++, dim);
    char name[NC_MAX_NAME + 1];
    CHECK_OK(ncmpi_inq_dimname(id, dim, name));
    CHECK_EQ(std::string(good), std::string(name));
  }
  CHECK_OK(ncmpi_def_dim(id, longest.c_str(), 10, nullptr));
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(dimension_lengths) {
  int id = create(t, 0);
  CHECK_ERR(NC_EDIMSIZE, ncmpi_def_dim(id, "negative", -1, nullptr));
  CHECK_OK(ncmpi_def_dim(id, "u", NC_UNLIMITED, nullptr));
  CHECK_ERR(NC_EUNLIMIT, ncmpi_def_dim(id, "second", NC_UNLIMITED, nullptr));
  CHECK_ERR(NC_ENAMEINUSE, ncmpi_def_dim(id, "u", 3, nullptr));
  CHECK_ERR(NC_EDIMSIZE, ncmpi_def_dim(id, "big", 2147483648LL, nullptr));
  CHECK_ERR(NC_EDIMSIZE, ncmpi_def_dim(id, "big", 2147483645LL, nullptr));
  CHECK_OK(ncmpi_def_dim(id, "big", 2147483644LL, nullptr));
  CHECK_OK(ncmpi_close(id));
  id = create(t, NC_64BIT_DATA);
  CHECK_OK(ncmpi_def_dim(id, "big", 3000000000LL, nullptr));
  CHECK_OK(ncmpi_def_dim(id, "biggest", INT64_MAX, nullptr));
  CHECK_OK(ncmpi_close(id));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &id));
  MPI_Offset length = 0;
  CHECK_OK(ncmpi_inq_dimlen(id, 0, &length));
  CHECK_EQ(MPI_Offset{3000000000LL}, length);
  CHECK_OK(ncmpi_inq_dimlen(id, 1, &length));
  CHECK_EQ(MPI_Offset{INT64_MAX}, length);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(variable_definitions_that_make_no_sense) {
  const int id = create(t, 0);
  int u = -1;
  int x = -1;
  int var = -1;
  CHECK_OK(ncmpi_def_dim(id, "u", NC_UNLIMITED, &u));
  CHECK_OK(ncmpi_def_dim(id, "x", 5, &x));
  const int swapped[] = {x, u};
  const int twice[] = {u, u};
  const int unknown = 99;
  const int negative = -1;
  CHECK_ERR(NC_EUNLIMPOS, ncmpi_def_var(id, "v", NC_INT, 2, swapped, &var));
  CHECK_ERR(NC_EUNLIMPOS, ncmpi_def_var(id, "v", NC_INT, 2, twice, &var));
  CHECK_ERR(NC_EBADDIM, ncmpi_def_var(id, "v", NC_INT, 1, &unknown, &var));
  CHECK_ERR(NC_EBADDIM, ncmpi_def_var(id, "v", NC_INT, 1, &negative, &var));
  for (const nc_type type : {NC_NAT, NC_STRING, 99, -1}) {
    CHECK_ERR(NC_EBADTYPE, ncmpi_def_var(id, "v", type, 1, &x, &var));
  }
  for (const nc_type type : {NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64}) {
    CHECK_ERR(NC_ESTRICTCDF2, ncmpi_def_var(id, "v", type, 1, &x, &var));
  }
  CHECK_ERR(NC_EINVAL, ncmpi_def_var(id, "v", NC_INT, -1, &x, &var));
  CHECK_ERR(NC_EINVAL, ncmpi_def_var(id, "v", NC_INT, 1, nullptr, &var));
  CHECK_OK(ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  CHECK_EQ(0, var);
  CHECK_ERR(NC_ENAMEINUSE, ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  const int square[] = {x, x};
  CHECK_OK(ncmpi_def_var(id, "square", NC_INT, 2, square, &var));
  if (is_forebay()) CHECK_OK(ncmpi_def_var(id, "anonymous", NC_INT, 0, nullptr, nullptr));
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(variables_too_large_for_their_format) {
  // In CDF-1 and CDF-2 only the last fixed-size variable may exceed the format's limit.
  int id = create(t, 0);
  int dims[2] = {};
  int var = -1;
  CHECK_OK(ncmpi_def_dim(id, "a", 1000000, &dims[0]));
  CHECK_OK(ncmpi_def_dim(id, "b", 3000, &dims[1]));
  CHECK_OK(ncmpi_def_var(id, "large", NC_INT, 2, dims, &var));
  CHECK_OK(ncmpi_def_var(id, "after", NC_INT, 0, nullptr, &var));
  CHECK_ERR(NC_EVARSIZE, ncmpi_enddef(id));
  const int code = ncmpi_abort(id);
  if (is_forebay()) CHECK_OK(code);  // the peer's ranks race for the deletion
}

TEST_CASE(rename_dimensions_and_variables) {
  Sample s = create_sample(t, 0, false);
  CHECK_OK(ncmpi_rename_var(s.ncid, s.grid, "a_much_longer_name"));
  CHECK_ERR(NC_ENAMEINUSE, ncmpi_rename_var(s.ncid, s.grid, "series"));
  CHECK_ERR(NC_ENAMEINUSE, ncmpi_rename_var(s.ncid, s.grid, "a_much_longer_name"));
  CHECK_ERR(NC_ENOTVAR, ncmpi_rename_var(s.ncid, 77, "z"));
  CHECK_ERR(NC_EGLOBAL, ncmpi_rename_var(s.ncid, NC_GLOBAL, "z"));
  CHECK_ERR(NC_EBADNAME, ncmpi_rename_var(s.ncid, s.grid, "a/b"));
  CHECK_ERR(NC_EBADNAME, ncmpi_rename_var(s.ncid, s.grid, ""));
  CHECK_ERR(NC_EBADNAME, ncmpi_rename_var(s.ncid, s.grid, nullptr));
  CHECK_OK(ncmpi_rename_dim(s.ncid, s.x, "longitude"));
  CHECK_OK(ncmpi_rename_dim(s.ncid, s.x, "longitude"));
  CHECK_ERR(NC_ENAMEINUSE, ncmpi_rename_dim(s.ncid, s.x, "y"));
  CHECK_ERR(NC_EBADDIM, ncmpi_rename_dim(s.ncid, 77, "z"));
  CHECK_ERR(NC_EBADDIM, ncmpi_rename_dim(s.ncid, -1, "z"));
  CHECK_ERR(NC_EBADNAME, ncmpi_rename_dim(s.ncid, s.x, nullptr));
  int id = -1;
  CHECK_ERR(NC_ENOTVAR, ncmpi_inq_varid(s.ncid, "grid", &id));
  CHECK_OK(ncmpi_inq_varid(s.ncid, "a_much_longer_name", &id));
  CHECK_EQ(s.grid, id);
  CHECK_ERR(NC_EBADDIM, ncmpi_inq_dimid(s.ncid, "x", &id));
  // An old name is free again.
  CHECK_OK(ncmpi_def_dim(s.ncid, "x", 3, &id));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(inquiries_see_what_was_defined) {
  Sample s = create_sample(t, 0, false);
  int values[2] = {5, 6};
  CHECK_OK(ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 2, values));
  CHECK_OK(ncmpi_put_att_int(s.ncid, NC_GLOBAL, "g", NC_INT, 1, values));
  CHECK_OK(ncmpi_enddef(s.ncid));
  for (int pass = 0; pass < 2; ++pass) {
    int ndims = 0;
    int nvars = 0;
    int natts = 0;
    int unlimited = -1;
    CHECK_OK(ncmpi_inq(s.ncid, &ndims, &nvars, &natts, &unlimited));
    CHECK_EQ(3, ndims);
    CHECK_EQ(6, nvars);
    CHECK_EQ(1, natts);
    CHECK_EQ(s.time, unlimited);
    CHECK_OK(ncmpi_inq(s.ncid, nullptr, nullptr, nullptr, nullptr));
    CHECK_OK(ncmpi_inq_ndims(s.ncid, &ndims));
    CHECK_OK(ncmpi_inq_nvars(s.ncid, &nvars));
    CHECK_OK(ncmpi_inq_unlimdim(s.ncid, &unlimited));
    CHECK_EQ(3, ndims);
    CHECK_EQ(6, nvars);
    CHECK_EQ(s.time, unlimited);
    // The peer forgets these counts when it opens a file.
    if (pass == 0 || is_forebay()) {
      CHECK_OK(ncmpi_inq_num_rec_vars(s.ncid, &nvars));
      CHECK_EQ(1, nvars);
      CHECK_OK(ncmpi_inq_num_fix_vars(s.ncid, &nvars));
      CHECK_EQ(5, nvars);
    }
    char name[NC_MAX_NAME + 1] = "";
    nc_type type = NC_NAT;
    int dims[2] = {-1, -1};
    CHECK_OK(ncmpi_inq_var(s.ncid, s.grid, name, &type, &ndims, dims, &natts));
    CHECK_EQ(std::string("grid"), std::string(name));
    CHECK_EQ(NC_INT, type);
    CHECK_EQ(2, ndims);
    CHECK_EQ(s.y, dims[0]);
    CHECK_EQ(s.x, dims[1]);
    CHECK_EQ(1, natts);
    CHECK_OK(ncmpi_inq_var(s.ncid, s.grid, nullptr, nullptr, nullptr, nullptr, nullptr));
    CHECK_OK(ncmpi_inq_vartype(s.ncid, s.text, &type));
    CHECK_EQ(NC_CHAR, type);
    CHECK_OK(ncmpi_inq_varndims(s.ncid, s.scalar, &ndims));
    CHECK_EQ(0, ndims);
    MPI_Offset length = -1;
    CHECK_OK(ncmpi_inq_dim(s.ncid, s.x, name, &length));
    CHECK_EQ(MPI_Offset{6}, length);
    int id = -1;
    CHECK_ERR(NC_ENOTVAR, ncmpi_inq_varid(s.ncid, "nothing", &id));
    CHECK_ERR(NC_EBADDIM, ncmpi_inq_dimid(s.ncid, "nothing", &id));
    CHECK_ERR(NC_EBADDIM, ncmpi_inq_dim(s.ncid, 99, name, &length));
    CHECK_ERR(NC_ENOTVAR, ncmpi_inq_var(s.ncid, 99, name, &type, &ndims, dims, &natts));
    CHECK_ERR(NC_EGLOBAL, ncmpi_inq_var(s.ncid, NC_GLOBAL, name, &type, &ndims, dims, &natts));
    CHECK_ERR(NC_EGLOBAL, ncmpi_inq_varname(s.ncid, NC_GLOBAL, name));
    CHECK_ERR(NC_EGLOBAL, ncmpi_inq_vartype(s.ncid, NC_GLOBAL, &type));
    CHECK_ERR(NC_EGLOBAL, ncmpi_inq_varoffset(s.ncid, NC_GLOBAL, &length));
    CHECK_OK(ncmpi_inq_varnatts(s.ncid, NC_GLOBAL, &natts));
    CHECK_EQ(1, natts);
    int path_length = 0;
    CHECK_OK(ncmpi_inq_path(s.ncid, &path_length, nullptr));
    CHECK_EQ(static_cast<int>(t.path().size()), path_length);
    std::vector<char> path(static_cast<size_t>(path_length) + 1);
    CHECK_OK(ncmpi_inq_path(s.ncid, nullptr, path.data()));
    CHECK_EQ(t.path(), std::string(path.data()));
    if (pass == 0) {
      CHECK_OK(ncmpi_close(s.ncid));
      CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
    }
  }
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(no_unlimited_dimension_is_minus_one) {
  const int id = create(t, 0);
  int unlimited = 5;
  CHECK_OK(ncmpi_inq_unlimdim(id, &unlimited));
  CHECK_EQ(-1, unlimited);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(sizes_and_offsets_of_the_header) {
  Sample s = create_sample(t, 0, false);
  MPI_Offset n = -1;
  // Of what is defined so far; before PnetCDF 1.14 that was not told.
  MPI_Offset so_far = -1;
  CHECK_OK(ncmpi_inq_header_size(s.ncid, &so_far));
  if (!is_forebay()) CHECK_EQ(MPI_Offset{0}, so_far);
  CHECK_OK(ncmpi_inq_header_extent(s.ncid, &n));
  CHECK_EQ(MPI_Offset{0}, n);
  CHECK_OK(ncmpi_enddef(s.ncid));
  MPI_Offset size = -1;
  CHECK_OK(ncmpi_inq_header_size(s.ncid, &size));
  if (is_forebay()) CHECK_EQ(size, so_far);
  CHECK_OK(ncmpi_inq_header_extent(s.ncid, &n));
  CHECK(size > 0 && size <= 512);
  CHECK_EQ(MPI_Offset{512}, n);
  const MPI_Offset expected[] = {512, 640, 608, 616, 620, 628};
  // In file order: grid 96, text 8, scalar 4, tiny 8, real 24 bytes; the records follow.
  for (const int var : {s.grid, s.text, s.scalar, s.tiny, s.real}) {
    CHECK_OK(ncmpi_inq_varoffset(s.ncid, var, &n));
    CHECK_EQ(expected[var], n);
  }
  CHECK_OK(ncmpi_inq_varoffset(s.ncid, s.series, &n));
  CHECK_EQ(MPI_Offset{628 + 24}, n);
  CHECK_OK(ncmpi_inq_recsize(s.ncid, &n));
  CHECK_EQ(MPI_Offset{24}, n);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(header_size_of_what_is_defined_after_redef) {
  Sample s = create_sample(t);
  MPI_Offset before = -1, so_far = -1, extent = -1, after = -1;
  CHECK_OK(ncmpi_inq_header_size(s.ncid, &before));
  CHECK_OK(ncmpi_redef(s.ncid));
  CHECK_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "more", 4, "text"));
  CHECK_OK(ncmpi_inq_header_size(s.ncid, &so_far));
  CHECK_OK(ncmpi_inq_header_extent(s.ncid, &extent));
  CHECK_EQ(MPI_Offset{512}, extent);  // of the file as it is
  CHECK_OK(ncmpi_enddef(s.ncid));
  CHECK_OK(ncmpi_inq_header_size(s.ncid, &after));
  CHECK(after > before);
  if (is_forebay()) CHECK_EQ(after, so_far);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(enddef_arguments) {
  Sample s = create_sample(t, 0, false);
  CHECK_ERR(NC_EINVAL, ncmpi__enddef(s.ncid, -1, 4, 0, 4));
  CHECK_ERR(NC_EINVAL, ncmpi__enddef(s.ncid, 0, -4, 0, 4));
  CHECK_ERR(NC_EINVAL, ncmpi__enddef(s.ncid, 0, 4, -1, 4));
  CHECK_ERR(NC_EINVAL, ncmpi__enddef(s.ncid, 0, 4, 0, -4));
  CHECK_OK(ncmpi__enddef(s.ncid, 1000, 64, 100, 256));
  MPI_Offset size = 0;
  MPI_Offset extent = 0;
  MPI_Offset records = 0;
  CHECK_OK(ncmpi_inq_header_size(s.ncid, &size));
  CHECK_OK(ncmpi_inq_header_extent(s.ncid, &extent));
  CHECK_OK(ncmpi_inq_varoffset(s.ncid, s.series, &records));
  CHECK_EQ((size + 1000 + 63) / 64 * 64, extent);
  CHECK_EQ((extent + 140 + 100 + 255) / 256 * 256, records);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(hints_in_force_are_told) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "nc_header_align_size", "1024");
  MPI_Info_set(info, "nc_var_align_size", "100");
  Sample s = create_sample(t, 0, true, info);
  MPI_Info_free(&info);
  MPI_Info used = MPI_INFO_NULL;
  CHECK_OK(ncmpi_inq_file_info(s.ncid, nullptr));
  CHECK_OK(ncmpi_inq_file_info(s.ncid, &used));
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info_get(used, "nc_header_align_size", MPI_MAX_INFO_VAL, value, &found);
  CHECK(found != 0);
  CHECK_EQ(std::string("1024"), std::string(value));
  MPI_Info_get(used, "nc_var_align_size", MPI_MAX_INFO_VAL, value, &found);
  CHECK_EQ(std::string("100"), std::string(value));
  MPI_Info_free(&used);
  MPI_Offset extent = 0;
  CHECK_OK(ncmpi_inq_header_extent(s.ncid, &extent));
  CHECK_EQ(MPI_Offset{1100}, extent);
  int size = -1;
  int count = -1;
  CHECK_OK(ncmpi_inq_striping(s.ncid, &size, &count));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(redef_moves_data_to_their_new_places) {
  Sample s = create_sample(t, NC_64BIT_DATA);
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = 7 * i;
  CHECK_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  const Index start = {0, 0};
  const Index count = {4, 6};
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  MPI_Offset before = 0;
  MPI_Offset after = 0;
  CHECK_OK(ncmpi_inq_varoffset(s.ncid, s.grid, &before));
  for (int pass = 0; pass < 4; ++pass) {
    CHECK_OK(ncmpi_redef(s.ncid));
    const std::string name = "pass" + std::to_string(pass);
    const std::string text(static_cast<size_t>(700 * pass + 3), 'x');
    CHECK_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, name.c_str(),
                                static_cast<MPI_Offset>(text.size()), text.c_str()));
    int var = -1;
    const int record_dims[] = {s.time, s.x};
    if (pass == 1) CHECK_OK(ncmpi_def_var(s.ncid, "odd", NC_BYTE, 1, &s.x, &var));
    if (pass == 2) CHECK_OK(ncmpi_def_var(s.ncid, "more", NC_SHORT, 2, record_dims, &var));
    if (pass == 3) CHECK_OK(ncmpi_def_var(s.ncid, "odd2", NC_BYTE, 1, &s.time, &var));
    CHECK_OK(ncmpi_enddef(s.ncid));
    int got[24] = {};
    CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
    for (int i = 0; i < 24; ++i) CHECK_EQ(values[i], got[i]);
    CHECK_OK(ncmpi_get_vara_int_all(s.ncid, s.series, start.data(), count.data(), got));
    for (int i = 0; i < 24; ++i) CHECK_EQ(values[i], got[i]);
  }
  CHECK_OK(ncmpi_inq_varoffset(s.ncid, s.grid, &after));
  CHECK(after > before);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(messages_and_names_of_errors) {
  CHECK_EQ(std::string("No error"), std::string(ncmpi_strerror(NC_NOERR)));
  CHECK_EQ(std::string("NC_EBADID"), std::string(ncmpi_strerrno(NC_EBADID)));
  CHECK_EQ(std::string("NC_NOERR"), std::string(ncmpi_strerrno(NC_NOERR)));
  CHECK(std::strlen(ncmpi_strerror(NC_EMULTIDEFINE_VAR_NAME)) > 10);
  CHECK(std::strlen(ncmpi_strerror(-9999)) > 0);
  CHECK_EQ(std::string(std::strerror(2)), std::string(ncmpi_strerror(2)));
}
