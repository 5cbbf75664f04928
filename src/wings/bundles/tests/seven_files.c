/* A weather model's output as a user of PnetCDF writes it: seven files of very different sizes a
 * step. It knows nothing of Forebay, nor of bundles.
 *
 * Usage: seven_files DIRECTORY
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                   \
  do {                                                                              \
    int code_ = (call);                                                             \
    if (code_ != NC_NOERR) {                                                        \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, ncmpi_strerror(code_)); \
      ++failures;                                                                   \
    }                                                                               \
  } while (0)

enum { files = 7, steps = 2, nx = 60, ny = 44 };

static const char* const names[files] = {"moist", "tend", "turb", "gwd", "prog", "surf", "bud"};
static const int planes[files] = {29, 23, 17, 13, 10, 3, 1};

int main(int argc, char** argv) {
  int failures = 0, total = 0, rank, size, step, f, k, j, i;
  float* values;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  values = malloc(sizeof(float) * 29 * nx * ny);
  for (step = 0; step < steps; ++step) {
    for (f = 0; f < files; ++f) {
      char path[1024];
      int id, dims[4], field, time;
      const int first = (int)((long)ny * rank / size), last = (int)((long)ny * (rank + 1) / size);
      MPI_Offset start[4] = {0, 0, first, 0}, count[4] = {1, planes[f], last - first, nx};
      const MPI_Offset zero = 0;
      const double hours = 3.0 * step;
      snprintf(path, sizeof path, "%s/model.geosgcm_%s.%d.nc", argv[1], names[f], step);
      TRY(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_OFFSET, MPI_INFO_NULL, &id));
      TRY(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]));
      TRY(ncmpi_def_dim(id, "lev", planes[f], &dims[1]));
      TRY(ncmpi_def_dim(id, "lat", ny, &dims[2]));
      TRY(ncmpi_def_dim(id, "lon", nx, &dims[3]));
      TRY(ncmpi_def_var(id, "time", NC_DOUBLE, 1, dims, &time));
      TRY(ncmpi_def_var(id, names[f], NC_FLOAT, 4, dims, &field));
      TRY(ncmpi_put_att_text(id, field, "units", 1, "1"));
      TRY(ncmpi_enddef(id));
      for (k = 0, i = 0; k < planes[f]; ++k)
        for (j = first * nx; j < last * nx; ++j)
          values[i++] = (float)(k + j * 0.001 + f + 10 * step);
      TRY(ncmpi_put_var1_double_all(id, time, &zero, &hours));
      TRY(ncmpi_put_vara_float_all(id, field, start, count, values));
      TRY(ncmpi_close(id));
    }
  }
  free(values);
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return total != 0;
}
