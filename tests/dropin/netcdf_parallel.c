/* A program of netCDF-C that writes classic files in parallel, which netCDF-C does through PnetCDF.
 *
 * Usage: netcdf_parallel FILE forebay|peer
 *
 * Under LD_PRELOAD=libforebay.so the calls of netCDF-C reach Forebay.
 */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <string.h>

#define TRY(call)                                                                \
  do {                                                                           \
    int code_ = (call);                                                          \
    if (code_ != NC_NOERR) {                                                     \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, nc_strerror(code_)); \
      ++failures;                                                                \
    }                                                                            \
  } while (0)

const char* ncmpi_inq_libvers(void);

/* One file in the given format, written and read back. */
static int round_trip(const char* path, int mode, int rank, int size) {
  int failures = 0, id, dims[2], grid, series, i, format;
  size_t start[2], count[2], length = 0;
  ptrdiff_t stride[2] = {1, 2};
  int row[6], back[6], third[3];
  float real;
  for (i = 0; i < 6; ++i) row[i] = rank * 10 + i;
  TRY(nc_create_par(path, NC_CLOBBER | NC_PNETCDF | mode, MPI_COMM_WORLD, MPI_INFO_NULL, &id));
  TRY(nc_put_att_text(id, NC_GLOBAL, "history", 4, "test"));
  TRY(nc_def_dim(id, "time", NC_UNLIMITED, &dims[0]));
  TRY(nc_def_var(id, "series", NC_FLOAT, 1, dims, &series));
  TRY(nc_def_dim(id, "y", (size_t)size, &dims[0]));
  TRY(nc_def_dim(id, "x", 6, &dims[1]));
  TRY(nc_def_var(id, "grid", NC_SHORT, 2, dims, &grid));
  TRY(nc_enddef(id));
  start[0] = (size_t)rank, start[1] = 0, count[0] = 1, count[1] = 6;
  TRY(nc_var_par_access(id, grid, NC_COLLECTIVE));
  TRY(nc_put_vara_int(id, grid, start, count, row));
  TRY(nc_var_par_access(id, series, NC_INDEPENDENT));
  real = (float)rank + 0.25F;
  TRY(nc_put_var1_float(id, series, start, &real));
  TRY(nc_close(id));

  TRY(nc_open_par(path, NC_NOWRITE | NC_PNETCDF, MPI_COMM_WORLD, MPI_INFO_NULL, &id));
  TRY(nc_inq_format(id, &format));
  TRY(nc_inq_dimlen(id, 0, &length));
  failures += length != (size_t)size;
  start[0] = (size_t)((rank + 1) % size);
  TRY(nc_var_par_access(id, grid, NC_COLLECTIVE));
  TRY(nc_get_vara_int(id, grid, start, count, back));
  for (i = 0; i < 6; ++i) failures += back[i] != (int)start[0] * 10 + i;
  count[1] = 3;
  TRY(nc_get_vars_int(id, grid, start, count, stride, third));
  for (i = 0; i < 3; ++i) failures += third[i] != (int)start[0] * 10 + 2 * i;
  TRY(nc_get_var1_float(id, series, start, &real));
  failures += real != (float)start[0] + 0.25F;
  TRY(nc_close(id));
  return failures;
}

int main(int argc, char** argv) {
  int failures = 0, total = 0, rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  if ((strstr(ncmpi_inq_libvers(), "Forebay") != NULL) != (strcmp(argv[2], "forebay") == 0)) {
    fprintf(stderr, "the library is %s, expected %s\n", ncmpi_inq_libvers(), argv[2]);
    ++failures;
  }
  failures += round_trip(argv[1], 0, rank, size);
  failures += round_trip(argv[1], NC_64BIT_OFFSET, rank, size);
  failures += round_trip(argv[1], NC_64BIT_DATA, rank, size);
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d failures on %d ranks\n", ncmpi_inq_libvers(), total, size);
  MPI_Finalize();
  return total != 0;
}
