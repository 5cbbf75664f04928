// A small dataset that many behaviour tests start from.
#pragma once

#include <pnetcdf.h>

#include <array>
#include <string>
#include <vector>

#include "support/harness.h"

namespace forebay_test {

// Dimensions time (unlimited), y (4), x (6); variables grid(y,x) int, series(time,x) int,
// text(x) char, scalar int, tiny(x) byte, real(x) float.
struct Sample {
  int ncid = -1;
  int time = -1, y = -1, x = -1;
  int grid = -1, series = -1, text = -1, scalar = -1, tiny = -1, real = -1;

  static constexpr int rows = 4;
  static constexpr int columns = 6;
};

// Creates the sample and leaves it in define mode, or in collective data mode.
inline Sample create_sample(int mode = NC_64BIT_DATA, bool end_define = true,
                            MPI_Info info = MPI_INFO_NULL) {
  Sample s;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | mode, info, &s.ncid));
  EXPECT_OK(ncmpi_def_dim(s.ncid, "time", NC_UNLIMITED, &s.time));
  EXPECT_OK(ncmpi_def_dim(s.ncid, "y", Sample::rows, &s.y));
  EXPECT_OK(ncmpi_def_dim(s.ncid, "x", Sample::columns, &s.x));
  const int grid_dims[] = {s.y, s.x};
  const int series_dims[] = {s.time, s.x};
  EXPECT_OK(ncmpi_def_var(s.ncid, "grid", NC_INT, 2, grid_dims, &s.grid));
  EXPECT_OK(ncmpi_def_var(s.ncid, "series", NC_INT, 2, series_dims, &s.series));
  EXPECT_OK(ncmpi_def_var(s.ncid, "text", NC_CHAR, 1, &s.x, &s.text));
  EXPECT_OK(ncmpi_def_var(s.ncid, "scalar", NC_INT, 0, nullptr, &s.scalar));
  EXPECT_OK(ncmpi_def_var(s.ncid, "tiny", NC_BYTE, 1, &s.x, &s.tiny));
  EXPECT_OK(ncmpi_def_var(s.ncid, "real", NC_FLOAT, 1, &s.x, &s.real));
  if (end_define) {
    EXPECT_OK(ncmpi_enddef(s.ncid));
  }
  return s;
}

inline MPI_Offset records(const Sample& s) {
  MPI_Offset n = -1;
  EXPECT_OK(ncmpi_inq_dimlen(s.ncid, s.time, &n));
  return n;
}

using Index = std::array<MPI_Offset, 2>;

}  // namespace forebay_test
