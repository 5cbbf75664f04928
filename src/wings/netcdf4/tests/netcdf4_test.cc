// netCDF-4 files through PnetCDF's interface: formats, definitions, fill values, what a file shows.
// What other behaviour tests say of files in general holds for these, too; they run with
// container=netcdf4 as well (CMakeLists.txt).
#include <forebay.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "netcdf4_file.h"

using namespace forebay_test;

// -- formats

// As in PnetCDF, who asks for the format of a path is not told of the classic model.
TEST(Formats, modes_and_hints_choose_them) {
  struct Case {
    int mode;
    Hints hints;
    int format, version;
  };
  const Hints hint{{"container", "netcdf4"}};
  const std::vector<Case> cases{
      {NC_NETCDF4, {}, NC_FORMAT_NETCDF4, NC_NETCDF4},
      {NC_NETCDF4 | NC_CLASSIC_MODEL, {}, NC_FORMAT_NETCDF4_CLASSIC, NC_NETCDF4 | NC_CLASSIC_MODEL},
      {0, hint, NC_FORMAT_NETCDF4_CLASSIC, NC_NETCDF4 | NC_CLASSIC_MODEL},
      {NC_64BIT_OFFSET, hint, NC_FORMAT_NETCDF4_CLASSIC, NC_NETCDF4 | NC_CLASSIC_MODEL},
      {NC_64BIT_DATA, hint, NC_FORMAT_NETCDF4, NC_NETCDF4},
      {NC_NETCDF4, hint, NC_FORMAT_NETCDF4, NC_NETCDF4}};
  for (const Case& c : cases) {
    int id = create(c.mode, c.hints);
    EXPECT_EQ(c.format, format_of(id)) << c.mode;
    EXPECT_EQ(c.version, version_of(id)) << c.mode;
    EXPECT_OK(ncmpi_close(id));
    id = open();
    EXPECT_EQ(c.format, format_of(id)) << c.mode;
    EXPECT_EQ(c.version, version_of(id)) << c.mode;
    EXPECT_OK(ncmpi_close(id));
    EXPECT_EQ(NC_FORMAT_NETCDF4, format_at(world.path())) << c.mode;
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(Formats, what_excludes_each_other_is_refused) {
  int id = -1;
  for (const int mode : {NC_64BIT_DATA, NC_64BIT_OFFSET})
    EXPECT_ERR(NC_EINVAL_CMODE,
               ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_NETCDF4 | mode, no_info, &id));
}

TEST(Formats, the_default_may_be_one_of_them) {
  int before = -1;
  EXPECT_OK(ncmpi_inq_default_format(&before));
  for (const int format : {NC_FORMAT_NETCDF4, NC_FORMAT_NETCDF4_CLASSIC}) {
    EXPECT_OK(ncmpi_set_default_format(format, nullptr));
    const int id = create(0);
    EXPECT_EQ(format, format_of(id));
    EXPECT_OK(ncmpi_close(id));
    EXPECT_EQ(NC_FORMAT_NETCDF4, format_at(world.path()));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_OK(ncmpi_set_default_format(before, nullptr));
}

TEST(Formats, the_classic_model_has_six_types) {
  int id = create(NC_NETCDF4 | NC_CLASSIC_MODEL);
  const int x = dim_of(id, "x", 3);
  for (const nc_type type : {NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64})
    EXPECT_ERR(NC_ESTRICTCDF2, ncmpi_def_var(id, "v", type, 1, &x, nullptr));
  const long long one = 1;
  EXPECT_ERR(NC_ESTRICTCDF2, ncmpi_put_att_longlong(id, NC_GLOBAL, "a", NC_INT64, 1, &one));
  for (const nc_type type : {NC_BYTE, NC_CHAR, NC_SHORT, NC_INT, NC_FLOAT, NC_DOUBLE})
    define(id, ("v" + std::to_string(type)).c_str(), type, {x});
  EXPECT_OK(ncmpi_close(id));
  id = create();
  const int y = dim_of(id, "y", 3);
  for (const nc_type type : {NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64})
    define(id, ("v" + std::to_string(type)).c_str(), type, {y});
  EXPECT_OK(ncmpi_close(id));
  id = open();
  for (const nc_type type : {NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64}) {
    int var = -1;
    nc_type found = NC_NAT;
    EXPECT_OK(ncmpi_inq_varid(id, ("v" + std::to_string(type)).c_str(), &var));
    EXPECT_OK(ncmpi_inq_vartype(id, var, &found));
    EXPECT_EQ(type, found);
  }
  EXPECT_OK(ncmpi_close(id));
}

TEST(Formats, an_empty_file_is_a_file) {
  EXPECT_OK(ncmpi_close(create()));
  const int id = open(NC_WRITE);
  int ndims = -1, nvars = -1, natts = -1, record = 0;
  EXPECT_OK(ncmpi_inq(id, &ndims, &nvars, &natts, &record));
  EXPECT_EQ((std::array{0, 0, 0, -1}), (std::array{ndims, nvars, natts, record}));
  EXPECT_OK(ncmpi_close(id));
}

// Without the plug-in the old file stays. A program of the same name is started, as a process
// loads the plug-in once.
TEST(Formats, without_the_plugin_nothing_is_lost) {
  const std::string empty = world.path("empty"), old = world.path();
  if (world.rank == 0) {
    std::filesystem::create_directories(empty);
    std::ofstream(empty + "/libforebay_netcdf4.so") << "no library";
    std::ofstream(old) << "an old file";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const char* const folder = std::getenv("NETCDF4_TEST_WITHOUT_PLUGIN");
  if (folder == nullptr) GTEST_SKIP() << "runs in mpi.netcdf4_no_plugin";
  int id = -1;
  EXPECT_ERR(NC_ENOTBUILT,
             ncmpi_create(MPI_COMM_WORLD, old.c_str(), NC_CLOBBER | NC_NETCDF4, no_info, &id));
  EXPECT_TRUE(std::string(forebay_error_message()).find("libforebay_netcdf4.so") !=
              std::string::npos)
      << forebay_error_message();
  EXPECT_EQ("an old file", bytes_of(old));
  MPI_Barrier(MPI_COMM_WORLD);
  // A file that is there is not opened either, and stays.
  if (world.rank == 0) std::ofstream(old) << std::string("\x89HDF\r\n\x1a\n", 8) << "more";
  MPI_Barrier(MPI_COMM_WORLD);
  for (const int mode : {NC_NOWRITE, NC_WRITE})
    EXPECT_ERR(NC_ENOTBUILT, ncmpi_open(MPI_COMM_WORLD, old.c_str(), mode, no_info, &id));
  EXPECT_EQ(std::string("\x89HDF\r\n\x1a\n", 8) + "more", bytes_of(old));
  MPI_Barrier(MPI_COMM_WORLD);
}

// -- definitions

TEST(Definitions, may_be_added_to_when_there_are_values) {
  const MPI_Offset width = 5, columns = width * world.size;
  int id = create();
  const int t = dim_of(id, "t", NC_UNLIMITED), x = dim_of(id, "x", columns), y = dim_of(id, "y", 3);
  const int fixed = define(id, "fixed", NC_INT, {y, x}),
            series = define(id, "series", NC_INT, {t, x});
  EXPECT_OK(ncmpi_enddef(id));
  for (int row = 0; row < 3; ++row) {
    put_part(id, fixed, row, width, 1);
    put_part(id, series, row, width, 2);
  }
  for (int round = 0; round < 4; ++round) {
    EXPECT_OK(ncmpi_redef(id));
    const std::string n = std::to_string(round);
    const int z = dim_of(id, ("z" + n).c_str(), 2 + round);
    define(id, ("scalar" + n).c_str(), NC_DOUBLE, {});
    define(id, ("grid" + n).c_str(), NC_INT, {z, x});
    define(id, ("record" + n).c_str(), NC_INT, {t, x});
    if (round % 2 == 1) define(id, ("z" + n).c_str(), NC_FLOAT, {z});  // a coordinate, later
    EXPECT_OK(
        ncmpi_put_att_text(id, NC_GLOBAL, ("a" + n).c_str(), 700, std::string(700, 'x').c_str()));
    EXPECT_OK(ncmpi_rename_var(id, fixed, ("fixed" + n).c_str()));
    EXPECT_OK(ncmpi_rename_dim(id, y, ("y" + n).c_str()));
    EXPECT_OK(ncmpi_enddef(id));
    int grid = -1, record = -1;
    EXPECT_OK(ncmpi_inq_varid(id, ("grid" + n).c_str(), &grid));
    EXPECT_OK(ncmpi_inq_varid(id, ("record" + n).c_str(), &record));
    put_part(id, grid, 1, width, 10 + round);
    put_part(id, record, 3 + round, width, 20 + round);
    if (round == 2) {
      EXPECT_OK(ncmpi_sync(id));
    }
  }
  for (const bool again : {false, true}) {
    if (again) {
      EXPECT_OK(ncmpi_close(id));
      id = open(NC_WRITE);
    }
    EXPECT_EQ(7, length_of(id, t));
    for (int row = 0; row < 3; ++row) {
      check_part(id, fixed, row, width, 1);
      check_part(id, series, row, width, 2);
    }
    int fixed_now = -1;
    EXPECT_OK(ncmpi_inq_varid(id, "fixed3", &fixed_now));
    EXPECT_EQ(fixed, fixed_now);
    for (int round = 0; round < 4; ++round) {
      const std::string n = std::to_string(round);
      int grid = -1, record = -1, dim = -1;
      EXPECT_OK(ncmpi_inq_varid(id, ("grid" + n).c_str(), &grid));
      EXPECT_OK(ncmpi_inq_varid(id, ("record" + n).c_str(), &record));
      EXPECT_OK(ncmpi_inq_dimid(id, ("z" + n).c_str(), &dim));
      EXPECT_EQ(2 + round, length_of(id, dim));
      check_part(id, grid, 1, width, 10 + round);
      check_part(id, record, 3 + round, width, 20 + round);
      MPI_Offset length = -1;
      EXPECT_OK(ncmpi_inq_attlen(id, NC_GLOBAL, ("a" + n).c_str(), &length));
      EXPECT_EQ(700, length);
    }
  }
  EXPECT_OK(ncmpi_close(id));
}

TEST(Definitions, change_in_data_mode_where_nothing_grows) {
  int id = create();
  const int x = dim_of(id, "x", 4), v = define(id, "long_name", NC_INT, {x});
  const int three[] = {1, 2, 3};
  EXPECT_OK(ncmpi_put_att_int(id, v, "attribute", NC_INT, 3, three));
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_OK(ncmpi_sync(id));
  EXPECT_OK(ncmpi_put_att_int(id, v, "attribute", NC_INT, 2, three + 1));
  EXPECT_OK(ncmpi_rename_var(id, v, "short"));
  EXPECT_OK(ncmpi_rename_dim(id, x, "y"));
  EXPECT_OK(ncmpi_rename_att(id, v, "attribute", "att"));
  EXPECT_OK(ncmpi_close(id));
  id = open();
  int found = -1, got[2] = {};
  EXPECT_OK(ncmpi_inq_varid(id, "short", &found));
  EXPECT_EQ(v, found);
  EXPECT_OK(ncmpi_inq_dimid(id, "y", &found));
  EXPECT_EQ(x, found);
  EXPECT_OK(ncmpi_get_att_int(id, v, "att", got));
  EXPECT_EQ((std::array{2, 3}), (std::array{got[0], got[1]}));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Definitions, a_rename_makes_a_coordinate_variable_and_ends_one) {
  int id = create();
  const int x = dim_of(id, "x", 4), y = dim_of(id, "y", 2);
  const int a = define(id, "abc", NC_INT, {x}), b = define(id, "y", NC_INT, {y});
  const int both = define(id, "both", NC_INT, {y, x});
  EXPECT_OK(ncmpi_enddef(id));
  const std::vector<int> of_a{1, 2, 3, 4}, of_b{5, 6}, of_both{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_OK(ncmpi_put_var_int_all(id, a, of_a.data()));
  EXPECT_OK(ncmpi_put_var_int_all(id, b, of_b.data()));
  EXPECT_OK(ncmpi_put_var_int_all(id, both, of_both.data()));
  EXPECT_OK(ncmpi_sync(id));
  EXPECT_OK(ncmpi_rename_var(id, a, "x"));
  EXPECT_OK(ncmpi_rename_var(id, b, "b"));
  EXPECT_OK(ncmpi_close(id));
  id = open(NC_WRITE);
  const std::array<const char*, 3> names{"x", "b", "both"};
  for (int v = 0; v < 3; ++v) {
    char name[NC_MAX_NAME + 1] = "";
    EXPECT_OK(ncmpi_inq_varname(id, v, name));
    EXPECT_STREQ(names[static_cast<size_t>(v)], name);
  }
  EXPECT_EQ(of_a, all_of(id, a, 4));
  EXPECT_EQ(of_b, all_of(id, b, 2));
  EXPECT_EQ(of_both, all_of(id, both, 8));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Definitions, names_of_its_own_are_refused_as_attributes) {
  const int id = create();
  for (const char* name : {"DIMENSION_LIST", "_Netcdf4Dimid", "CLASS", "_NCProperties"})
    EXPECT_ERR(NC_EBADNAME, ncmpi_put_att_text(id, NC_GLOBAL, name, 1, "x")) << name;
  EXPECT_OK(ncmpi_close(id));
}

TEST(Definitions, a_dimension_that_hdf5_cannot_have_is_named) {
  int id = create();
  EXPECT_OK(ncmpi_def_dim(id, "endless", NC_MAX_INT64, nullptr));
  EXPECT_ERR(NC_EDIMSIZE, ncmpi_enddef(id));
  EXPECT_TRUE(std::string(forebay_error_message()).find("endless") != std::string::npos)
      << forebay_error_message();
  EXPECT_OK(ncmpi_abort(id));
  id = create();
  int dim = -1;
  EXPECT_OK(ncmpi_def_dim(id, "long", (MPI_Offset{1} << 61) - 1, &dim));
  EXPECT_OK(ncmpi_close(id));
  id = open();
  EXPECT_EQ((MPI_Offset{1} << 61) - 1, length_of(id, dim));
  EXPECT_OK(ncmpi_close(id));
}

// -- chunks and codecs

TEST(Codecs, shapes_and_filters_are_what_was_set) {
  const MPI_Offset width = 20, columns = width * world.size;
  for (const char* codec : {"none", "deflate:3", "shuffle,deflate:1", "shuffle,zstd:2",
                            "deflate:2,fletcher32", "fletcher32"}) {
    int id = create();
    const int y = dim_of(id, "y", 6), x = dim_of(id, "x", columns),
              t = dim_of(id, "t", NC_UNLIMITED);
    const int fixed = define(id, "fixed", NC_INT, {y, x}),
              series = define(id, "series", NC_INT, {t, x});
    const MPI_Offset shape[] = {4, 7};
    for (const int v : {fixed, series}) {
      EXPECT_OK(ncmpi_var_set_chunk(id, v, shape));
      EXPECT_OK(ncmpi_var_set_filter(id, v, codec));
    }
    EXPECT_OK(ncmpi_enddef(id));
    for (int row = 0; row < 6; ++row) {
      put_part(id, fixed, row, width);
      put_part(id, series, row, width, 3);
    }
    EXPECT_OK(ncmpi_close(id));
    id = open(NC_WRITE);
    for (const int v : {fixed, series}) {
      MPI_Offset got[2] = {};
      EXPECT_OK(ncmpi_var_get_chunk(id, v, got));
      EXPECT_EQ((std::array<MPI_Offset, 2>{4, 7}), (std::array{got[0], got[1]})) << codec;
    }
    for (int row = 0; row < 6; ++row) {
      check_part(id, fixed, row, width);
      check_part(id, series, row, width, 3);
    }
    for (int row = 2; row < 8; ++row) put_part(id, series, row, width, 5);
    EXPECT_OK(ncmpi_close(id));
    id = open();
    for (int row = 0; row < 8; ++row) check_part(id, series, row, width, row < 2 ? 3 : 5);
    EXPECT_OK(ncmpi_close(id));
  }
}

TEST(Codecs, without_a_filter_are_refused_by_all_with_the_names_of_both) {
  for (const char* codec : {"zfp:relative=0.1", "sz3:abs=0.1", "float32", "zfp:rate=8,zstd:3"}) {
    const int id = create();
    const int x = dim_of(id, "x", 100), v = define(id, "velocity", NC_DOUBLE, {x});
    const int code = ncmpi_var_set_filter(id, v, codec);
    if (code == NC_ENOTBUILT) {  // a codec that this build does not have
      EXPECT_OK(ncmpi_abort(id));
      continue;
    }
    EXPECT_ERR(NC_ENOTSUPPORT, code) << codec;
    const std::string said = forebay_error_message();
    EXPECT_TRUE(said.find("velocity") != std::string::npos) << said;
    EXPECT_TRUE(said.find(std::string(codec).substr(0, std::string(codec).find(':'))) !=
                std::string::npos)
        << said;
    EXPECT_OK(ncmpi_close(id));
  }
}

TEST(Codecs, of_a_hint_without_a_filter_fail_on_all_ranks) {
  for (const char* codec : {"zfp:relative=0.1", "sz3:abs=0.1"}) {
    const int id = create(NC_NETCDF4, {{"layout", "chunked"}, {"codec", codec}});
    if (id < 0) continue;
    const int x = dim_of(id, "x", 1000), v = define(id, "velocity", NC_DOUBLE, {x});
    const int code = ncmpi_enddef(id);
    EXPECT_TRUE(code == NC_NOERR || code == NC_ENOTSUPPORT || code == NC_ENOTBUILT) << code;
    EXPECT_TRUE(same_on_all_ranks(code));
    if (code == NC_ENOTSUPPORT) {
      const std::string said = forebay_error_message();
      EXPECT_TRUE(said.find("velocity") != std::string::npos) << said;
    }
    if (code == NC_NOERR) {  // told of in the report: the variable is stored without
      const std::vector<double> values(1000, 0.5);
      EXPECT_OK(ncmpi_put_var_double_all(id, v, values.data()));
    }
    EXPECT_OK(code == NC_NOERR ? ncmpi_close(id) : ncmpi_abort(id));
  }
}

TEST(Codecs, layouts_of_other_files_are_told_of_or_refused) {
  for (const char* layout : {"patches", "decomposed"}) {
    const Info info(Hints{{"layout", layout}});
    int id = -1;
    const int code =
        ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_NETCDF4, info, &id);
    EXPECT_TRUE(same_on_all_ranks(code));
    if (code == NC_ENOTBUILT) continue;  // without that wing
    EXPECT_ERR(NC_ENOTSUPPORT, code);
    EXPECT_TRUE(std::string(forebay_error_message()).find(layout) != std::string::npos);
    if (code == NC_NOERR) ncmpi_abort(id);
  }
}
