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

int create(int mode) {
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | mode, no_info, &id));
  return id;
}

}  // namespace

TEST(Definitions, names_that_are_not_allowed) {
  const int id = create(0);
  const std::string longest(NC_MAX_NAME, 'q');
  const std::string too_long(NC_MAX_NAME + 1, 'q');
  for (const char* bad : {"", "a/b", "ab ", " ab", "-ab", "a\tb", "\xff\xfe", "a\x7f"}) {
    EXPECT_ERR(NC_EBADNAME, ncmpi_def_dim(id, bad, 10, nullptr));
    int var = -1;
    EXPECT_ERR(NC_EBADNAME, ncmpi_def_var(id, bad, NC_INT, 0, nullptr, &var));
    const int value = 1;
    EXPECT_ERR(NC_EBADNAME, ncmpi_put_att_int(id, NC_GLOBAL, bad, NC_INT, 1, &value));
  }
  EXPECT_ERR(NC_EBADNAME, ncmpi_def_dim(id, nullptr, 10, nullptr));
  EXPECT_ERR(NC_EMAXNAME, ncmpi_def_dim(id, too_long.c_str(), 10, nullptr));
  int dims = 0;
  for (const char* good : {"a b", "1ab", "_ab", "\xc3\xa9t\xc3\xa9", "a+b.c@d:e"}) {
    int dim = -1;
    EXPECT_OK(ncmpi_def_dim(id, good, 10, &dim));
    EXPECT_EQ(dims++, dim);
    char name[NC_MAX_NAME + 1];
    EXPECT_OK(ncmpi_inq_dimname(id, dim, name));
    EXPECT_EQ(std::string(good), std::string(name));
  }
  EXPECT_OK(ncmpi_def_dim(id, longest.c_str(), 10, nullptr));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Definitions, dimension_lengths) {
  int id = create(0);
  EXPECT_ERR(NC_EDIMSIZE, ncmpi_def_dim(id, "negative", -1, nullptr));
  EXPECT_OK(ncmpi_def_dim(id, "u", NC_UNLIMITED, nullptr));
  EXPECT_ERR(NC_EUNLIMIT, ncmpi_def_dim(id, "second", NC_UNLIMITED, nullptr));
  EXPECT_ERR(NC_ENAMEINUSE, ncmpi_def_dim(id, "u", 3, nullptr));
  EXPECT_ERR(NC_EDIMSIZE, ncmpi_def_dim(id, "big", 2147483648LL, nullptr));
  EXPECT_ERR(NC_EDIMSIZE, ncmpi_def_dim(id, "big", 2147483645LL, nullptr));
  EXPECT_OK(ncmpi_def_dim(id, "big", 2147483644LL, nullptr));
  EXPECT_OK(ncmpi_close(id));
  id = create(NC_64BIT_DATA);
  EXPECT_OK(ncmpi_def_dim(id, "big", 3000000000LL, nullptr));
  EXPECT_OK(ncmpi_def_dim(id, "biggest", INT64_MAX, nullptr));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &id));
  MPI_Offset length = 0;
  EXPECT_OK(ncmpi_inq_dimlen(id, 0, &length));
  EXPECT_EQ(MPI_Offset{3000000000LL}, length);
  EXPECT_OK(ncmpi_inq_dimlen(id, 1, &length));
  EXPECT_EQ(MPI_Offset{INT64_MAX}, length);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Definitions, variable_definitions_that_make_no_sense) {
  const int id = create(0);
  int u = -1;
  int x = -1;
  int var = -1;
  EXPECT_OK(ncmpi_def_dim(id, "u", NC_UNLIMITED, &u));
  EXPECT_OK(ncmpi_def_dim(id, "x", 5, &x));
  const int swapped[] = {x, u};
  const int twice[] = {u, u};
  const int unknown = 99;
  const int negative = -1;
  EXPECT_ERR(NC_EUNLIMPOS, ncmpi_def_var(id, "v", NC_INT, 2, swapped, &var));
  EXPECT_ERR(NC_EUNLIMPOS, ncmpi_def_var(id, "v", NC_INT, 2, twice, &var));
  EXPECT_ERR(NC_EBADDIM, ncmpi_def_var(id, "v", NC_INT, 1, &unknown, &var));
  EXPECT_ERR(NC_EBADDIM, ncmpi_def_var(id, "v", NC_INT, 1, &negative, &var));
  for (const nc_type type : {NC_NAT, NC_STRING, 99, -1}) {
    EXPECT_ERR(NC_EBADTYPE, ncmpi_def_var(id, "v", type, 1, &x, &var));
  }
  for (const nc_type type : {NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64}) {
    EXPECT_ERR(NC_ESTRICTCDF2, ncmpi_def_var(id, "v", type, 1, &x, &var));
  }
  EXPECT_ERR(NC_EINVAL, ncmpi_def_var(id, "v", NC_INT, -1, &x, &var));
  EXPECT_ERR(NC_EINVAL, ncmpi_def_var(id, "v", NC_INT, 1, nullptr, &var));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  EXPECT_EQ(0, var);
  EXPECT_ERR(NC_ENAMEINUSE, ncmpi_def_var(id, "v", NC_INT, 1, &x, &var));
  const int square[] = {x, x};
  EXPECT_OK(ncmpi_def_var(id, "square", NC_INT, 2, square, &var));
  if (is_forebay()) {
    EXPECT_OK(ncmpi_def_var(id, "anonymous", NC_INT, 0, nullptr, nullptr));
  }
  EXPECT_OK(ncmpi_close(id));
}

TEST(Definitions, variables_too_large_for_their_format) {
  // In CDF-1 and CDF-2 only the last fixed-size variable may exceed the format's limit.
  int id = create(0);
  int dims[2] = {};
  int var = -1;
  EXPECT_OK(ncmpi_def_dim(id, "a", 1000000, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "b", 3000, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "large", NC_INT, 2, dims, &var));
  EXPECT_OK(ncmpi_def_var(id, "after", NC_INT, 0, nullptr, &var));
  EXPECT_ERR(NC_EVARSIZE, ncmpi_enddef(id));
  const int code = ncmpi_abort(id);
  if (is_forebay()) {  // the peer's ranks race for the deletion
    EXPECT_OK(code);
  }
}

TEST(Definitions, rename_dimensions_and_variables) {
  Sample s = create_sample(0, false);
  EXPECT_OK(ncmpi_rename_var(s.ncid, s.grid, "a_much_longer_name"));
  EXPECT_ERR(NC_ENAMEINUSE, ncmpi_rename_var(s.ncid, s.grid, "series"));
  EXPECT_ERR(NC_ENAMEINUSE, ncmpi_rename_var(s.ncid, s.grid, "a_much_longer_name"));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_rename_var(s.ncid, 77, "z"));
  EXPECT_ERR(NC_EGLOBAL, ncmpi_rename_var(s.ncid, NC_GLOBAL, "z"));
  EXPECT_ERR(NC_EBADNAME, ncmpi_rename_var(s.ncid, s.grid, "a/b"));
  EXPECT_ERR(NC_EBADNAME, ncmpi_rename_var(s.ncid, s.grid, ""));
  EXPECT_ERR(NC_EBADNAME, ncmpi_rename_var(s.ncid, s.grid, nullptr));
  EXPECT_OK(ncmpi_rename_dim(s.ncid, s.x, "longitude"));
  EXPECT_OK(ncmpi_rename_dim(s.ncid, s.x, "longitude"));
  EXPECT_ERR(NC_ENAMEINUSE, ncmpi_rename_dim(s.ncid, s.x, "y"));
  EXPECT_ERR(NC_EBADDIM, ncmpi_rename_dim(s.ncid, 77, "z"));
  EXPECT_ERR(NC_EBADDIM, ncmpi_rename_dim(s.ncid, -1, "z"));
  EXPECT_ERR(NC_EBADNAME, ncmpi_rename_dim(s.ncid, s.x, nullptr));
  int id = -1;
  EXPECT_ERR(NC_ENOTVAR, ncmpi_inq_varid(s.ncid, "grid", &id));
  EXPECT_OK(ncmpi_inq_varid(s.ncid, "a_much_longer_name", &id));
  EXPECT_EQ(s.grid, id);
  EXPECT_ERR(NC_EBADDIM, ncmpi_inq_dimid(s.ncid, "x", &id));
  // An old name is free again.
  EXPECT_OK(ncmpi_def_dim(s.ncid, "x", 3, &id));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Definitions, inquiries_see_what_was_defined) {
  Sample s = create_sample(0, false);
  int values[2] = {5, 6};
  EXPECT_OK(ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 2, values));
  EXPECT_OK(ncmpi_put_att_int(s.ncid, NC_GLOBAL, "g", NC_INT, 1, values));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  for (int pass = 0; pass < 2; ++pass) {
    int ndims = 0;
    int nvars = 0;
    int natts = 0;
    int unlimited = -1;
    EXPECT_OK(ncmpi_inq(s.ncid, &ndims, &nvars, &natts, &unlimited));
    EXPECT_EQ(3, ndims);
    EXPECT_EQ(6, nvars);
    EXPECT_EQ(1, natts);
    EXPECT_EQ(s.time, unlimited);
    EXPECT_OK(ncmpi_inq(s.ncid, nullptr, nullptr, nullptr, nullptr));
    EXPECT_OK(ncmpi_inq_ndims(s.ncid, &ndims));
    EXPECT_OK(ncmpi_inq_nvars(s.ncid, &nvars));
    EXPECT_OK(ncmpi_inq_unlimdim(s.ncid, &unlimited));
    EXPECT_EQ(3, ndims);
    EXPECT_EQ(6, nvars);
    EXPECT_EQ(s.time, unlimited);
    // The peer forgets these counts when it opens a file.
    if (pass == 0 || is_forebay()) {
      EXPECT_OK(ncmpi_inq_num_rec_vars(s.ncid, &nvars));
      EXPECT_EQ(1, nvars);
      EXPECT_OK(ncmpi_inq_num_fix_vars(s.ncid, &nvars));
      EXPECT_EQ(5, nvars);
    }
    char name[NC_MAX_NAME + 1] = "";
    nc_type type = NC_NAT;
    int dims[2] = {-1, -1};
    EXPECT_OK(ncmpi_inq_var(s.ncid, s.grid, name, &type, &ndims, dims, &natts));
    EXPECT_EQ(std::string("grid"), std::string(name));
    EXPECT_EQ(NC_INT, type);
    EXPECT_EQ(2, ndims);
    EXPECT_EQ(s.y, dims[0]);
    EXPECT_EQ(s.x, dims[1]);
    EXPECT_EQ(1, natts);
    EXPECT_OK(ncmpi_inq_var(s.ncid, s.grid, nullptr, nullptr, nullptr, nullptr, nullptr));
    EXPECT_OK(ncmpi_inq_vartype(s.ncid, s.text, &type));
    EXPECT_EQ(NC_CHAR, type);
    EXPECT_OK(ncmpi_inq_varndims(s.ncid, s.scalar, &ndims));
    EXPECT_EQ(0, ndims);
    MPI_Offset length = -1;
    EXPECT_OK(ncmpi_inq_dim(s.ncid, s.x, name, &length));
    EXPECT_EQ(MPI_Offset{6}, length);
    int id = -1;
    EXPECT_ERR(NC_ENOTVAR, ncmpi_inq_varid(s.ncid, "nothing", &id));
    EXPECT_ERR(NC_EBADDIM, ncmpi_inq_dimid(s.ncid, "nothing", &id));
    EXPECT_ERR(NC_EBADDIM, ncmpi_inq_dim(s.ncid, 99, name, &length));
    EXPECT_ERR(NC_ENOTVAR, ncmpi_inq_var(s.ncid, 99, name, &type, &ndims, dims, &natts));
    EXPECT_ERR(NC_EGLOBAL, ncmpi_inq_var(s.ncid, NC_GLOBAL, name, &type, &ndims, dims, &natts));
    EXPECT_ERR(NC_EGLOBAL, ncmpi_inq_varname(s.ncid, NC_GLOBAL, name));
    EXPECT_ERR(NC_EGLOBAL, ncmpi_inq_vartype(s.ncid, NC_GLOBAL, &type));
    EXPECT_ERR(NC_EGLOBAL, ncmpi_inq_varoffset(s.ncid, NC_GLOBAL, &length));
    EXPECT_OK(ncmpi_inq_varnatts(s.ncid, NC_GLOBAL, &natts));
    EXPECT_EQ(1, natts);
    int path_length = 0;
    EXPECT_OK(ncmpi_inq_path(s.ncid, &path_length, nullptr));
    EXPECT_EQ(static_cast<int>(world.path().size()), path_length);
    std::vector<char> path(static_cast<size_t>(path_length) + 1);
    EXPECT_OK(ncmpi_inq_path(s.ncid, nullptr, path.data()));
    EXPECT_EQ(world.path(), std::string(path.data()));
    if (pass == 0) {
      EXPECT_OK(ncmpi_close(s.ncid));
      EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
    }
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Definitions, no_unlimited_dimension_is_minus_one) {
  const int id = create(0);
  int unlimited = 5;
  EXPECT_OK(ncmpi_inq_unlimdim(id, &unlimited));
  EXPECT_EQ(-1, unlimited);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Definitions, sizes_and_offsets_of_the_header) {
  Sample s = create_sample(0, false);
  MPI_Offset n = -1;
  // Of what is defined so far; before PnetCDF 1.14 that was not told.
  MPI_Offset so_far = -1;
  EXPECT_OK(ncmpi_inq_header_size(s.ncid, &so_far));
  if (!is_forebay()) {
    EXPECT_EQ(MPI_Offset{0}, so_far);
  }
  EXPECT_OK(ncmpi_inq_header_extent(s.ncid, &n));
  EXPECT_EQ(MPI_Offset{0}, n);
  EXPECT_OK(ncmpi_enddef(s.ncid));
  MPI_Offset size = -1;
  EXPECT_OK(ncmpi_inq_header_size(s.ncid, &size));
  if (is_forebay()) {
    EXPECT_EQ(size, so_far);
  }
  EXPECT_OK(ncmpi_inq_header_extent(s.ncid, &n));
  EXPECT_TRUE(size > 0 && size <= 512);
  EXPECT_EQ(MPI_Offset{512}, n);
  const MPI_Offset expected[] = {512, 640, 608, 616, 620, 628};
  // In file order: grid 96, text 8, scalar 4, tiny 8, real 24 bytes; the records follow.
  for (const int var : {s.grid, s.text, s.scalar, s.tiny, s.real}) {
    EXPECT_OK(ncmpi_inq_varoffset(s.ncid, var, &n));
    EXPECT_EQ(expected[var], n);
  }
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.series, &n));
  EXPECT_EQ(MPI_Offset{628 + 24}, n);
  EXPECT_OK(ncmpi_inq_recsize(s.ncid, &n));
  EXPECT_EQ(MPI_Offset{24}, n);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Definitions, header_size_of_what_is_defined_after_redef) {
  Sample s = create_sample();
  MPI_Offset before = -1, so_far = -1, extent = -1, after = -1;
  EXPECT_OK(ncmpi_inq_header_size(s.ncid, &before));
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "more", 4, "text"));
  EXPECT_OK(ncmpi_inq_header_size(s.ncid, &so_far));
  EXPECT_OK(ncmpi_inq_header_extent(s.ncid, &extent));
  EXPECT_EQ(MPI_Offset{512}, extent);  // of the file as it is
  EXPECT_OK(ncmpi_enddef(s.ncid));
  EXPECT_OK(ncmpi_inq_header_size(s.ncid, &after));
  EXPECT_TRUE(after > before);
  if (is_forebay()) {
    EXPECT_EQ(after, so_far);
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Definitions, enddef_arguments) {
  Sample s = create_sample(0, false);
  EXPECT_ERR(NC_EINVAL, ncmpi__enddef(s.ncid, -1, 4, 0, 4));
  EXPECT_ERR(NC_EINVAL, ncmpi__enddef(s.ncid, 0, -4, 0, 4));
  EXPECT_ERR(NC_EINVAL, ncmpi__enddef(s.ncid, 0, 4, -1, 4));
  EXPECT_ERR(NC_EINVAL, ncmpi__enddef(s.ncid, 0, 4, 0, -4));
  EXPECT_OK(ncmpi__enddef(s.ncid, 1000, 64, 100, 256));
  MPI_Offset size = 0;
  MPI_Offset extent = 0;
  MPI_Offset records = 0;
  EXPECT_OK(ncmpi_inq_header_size(s.ncid, &size));
  EXPECT_OK(ncmpi_inq_header_extent(s.ncid, &extent));
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.series, &records));
  EXPECT_EQ((size + 1000 + 63) / 64 * 64, extent);
  EXPECT_EQ((extent + 140 + 100 + 255) / 256 * 256, records);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Definitions, hints_in_force_are_told) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "nc_header_align_size", "1024");
  MPI_Info_set(info, "nc_var_align_size", "100");
  Sample s = create_sample(0, true, info);
  MPI_Info_free(&info);
  MPI_Info used = MPI_INFO_NULL;
  EXPECT_OK(ncmpi_inq_file_info(s.ncid, nullptr));
  EXPECT_OK(ncmpi_inq_file_info(s.ncid, &used));
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info_get(used, "nc_header_align_size", MPI_MAX_INFO_VAL, value, &found);
  EXPECT_TRUE(found != 0);
  EXPECT_EQ(std::string("1024"), std::string(value));
  MPI_Info_get(used, "nc_var_align_size", MPI_MAX_INFO_VAL, value, &found);
  EXPECT_EQ(std::string("100"), std::string(value));
  MPI_Info_free(&used);
  MPI_Offset extent = 0;
  EXPECT_OK(ncmpi_inq_header_extent(s.ncid, &extent));
  EXPECT_EQ(MPI_Offset{1100}, extent);
  int size = -1;
  int count = -1;
  EXPECT_OK(ncmpi_inq_striping(s.ncid, &size, &count));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Definitions, redef_moves_data_to_their_new_places) {
  Sample s = create_sample(NC_64BIT_DATA);
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = 7 * i;
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  const Index start = {0, 0};
  const Index count = {4, 6};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  MPI_Offset before = 0;
  MPI_Offset after = 0;
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.grid, &before));
  for (int pass = 0; pass < 4; ++pass) {
    EXPECT_OK(ncmpi_redef(s.ncid));
    const std::string name = "pass" + std::to_string(pass);
    const std::string text(static_cast<size_t>(700 * pass + 3), 'x');
    EXPECT_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, name.c_str(),
                                 static_cast<MPI_Offset>(text.size()), text.c_str()));
    int var = -1;
    const int record_dims[] = {s.time, s.x};
    if (pass == 1) {
      EXPECT_OK(ncmpi_def_var(s.ncid, "odd", NC_BYTE, 1, &s.x, &var));
    }
    if (pass == 2) {
      EXPECT_OK(ncmpi_def_var(s.ncid, "more", NC_SHORT, 2, record_dims, &var));
    }
    if (pass == 3) {
      EXPECT_OK(ncmpi_def_var(s.ncid, "odd2", NC_BYTE, 1, &s.time, &var));
    }
    EXPECT_OK(ncmpi_enddef(s.ncid));
    int got[24] = {};
    EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
    for (int i = 0; i < 24; ++i) EXPECT_EQ(values[i], got[i]);
    EXPECT_OK(ncmpi_get_vara_int_all(s.ncid, s.series, start.data(), count.data(), got));
    for (int i = 0; i < 24; ++i) EXPECT_EQ(values[i], got[i]);
  }
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.grid, &after));
  EXPECT_TRUE(after > before);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Definitions, messages_and_names_of_errors) {
  EXPECT_EQ(std::string("No error"), std::string(ncmpi_strerror(NC_NOERR)));
  EXPECT_EQ(std::string("NC_EBADID"), std::string(ncmpi_strerrno(NC_EBADID)));
  EXPECT_EQ(std::string("NC_NOERR"), std::string(ncmpi_strerrno(NC_NOERR)));
  EXPECT_TRUE(std::strlen(ncmpi_strerror(NC_EMULTIDEFINE_VAR_NAME)) > 10);
  EXPECT_TRUE(std::strlen(ncmpi_strerror(-9999)) > 0);
  EXPECT_EQ(std::string(std::strerror(2)), std::string(ncmpi_strerror(2)));
}
