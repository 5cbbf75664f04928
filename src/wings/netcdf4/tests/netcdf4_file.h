// What tests of netCDF-4 files share: making and opening the file of the test, and its values.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"
#include "support/info.h"

namespace forebay_test {

inline const MPI_Info no_info = MPI_INFO_NULL;

inline int create(int mode = NC_NETCDF4, const Hints& hints = {}) {
  const Info info(hints);
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | mode, info, &id));
  return id;
}

inline int open(int mode = NC_NOWRITE, MPI_Comm comm = MPI_COMM_WORLD) {
  int id = -1;
  EXPECT_OK(ncmpi_open(comm, world.path().c_str(), mode, no_info, &id));
  return id;
}

inline int dim_of(int id, const char* name, MPI_Offset length) {
  int dim = -1;
  if (ncmpi_inq_dimid(id, name, &dim) != NC_NOERR) {
    EXPECT_OK(ncmpi_def_dim(id, name, length, &dim));
  }
  return dim;
}

inline int define(int id, const char* name, nc_type type, const std::vector<int>& dims) {
  int var = -1;
  EXPECT_OK(ncmpi_def_var(id, name, type, static_cast<int>(dims.size()), dims.data(), &var));
  return var;
}

inline int format_of(int id) {
  int format = -1;
  EXPECT_OK(ncmpi_inq_format(id, &format));
  return format;
}

inline int version_of(int id) {
  int version = -1;
  EXPECT_OK(ncmpi_inq_version(id, &version));
  return version;
}

inline int format_at(const std::string& path) {
  int format = -1;
  EXPECT_OK(ncmpi_inq_file_format(path.c_str(), &format));
  return format;
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Rank r has the columns [r * width, (r + 1) * width) of each row.
inline std::vector<int> part(MPI_Offset row, MPI_Offset width, int shift = 0) {
  std::vector<int> values(static_cast<size_t>(width));
  std::iota(values.begin(), values.end(),
            static_cast<int>(row * 1000 + world.rank * width) + shift);
  return values;
}

inline void put_part(int id, int var, MPI_Offset row, MPI_Offset width, int shift = 0) {
  const Index start{row, world.rank * width}, count{1, width};
  EXPECT_OK(
      ncmpi_put_vara_int_all(id, var, start.data(), count.data(), part(row, width, shift).data()));
}

inline void check_part(int id, int var, MPI_Offset row, MPI_Offset width, int shift = 0) {
  const Index start{row, world.rank * width}, count{1, width};
  std::vector<int> got(static_cast<size_t>(width), -7);
  EXPECT_OK(ncmpi_get_vara_int_all(id, var, start.data(), count.data(), got.data()));
  EXPECT_TRUE(got == part(row, width, shift)) << "row " << row;
}

inline std::vector<int> all_of(int id, int var, size_t elements) {
  std::vector<int> got(elements, -7);
  EXPECT_OK(ncmpi_get_var_int_all(id, var, got.data()));
  return got;
}

inline MPI_Offset length_of(int id, int dim) {
  MPI_Offset length = -1;
  EXPECT_OK(ncmpi_inq_dimlen(id, dim, &length));
  return length;
}

}  // namespace forebay_test
