/* Writes a file with chunked variables, some others, and, if asked to, a header that has outgrown
 * its room, so that everything behind it was moved.
 *
 * Usage: write_chunked FILE VERSION [grown]
 *
 * What it holds is said once more, independently, in run_chunked.py.
 */
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_TEXT ncmpi_strerror
#include "try.h"

enum { NT = 3, NY = 37, NX = 53, written_rows = 20, long_text = 9000 };

static int rank, ranks;

/* This rank's share of n rows. */
static void share(MPI_Offset n, MPI_Offset* start, MPI_Offset* count) {
  *start = n * rank / ranks;
  *count = n * (rank + 1) / ranks - *start;
}

static void put_temperature(int id, int var) {
  float* values = malloc(NY * NX * sizeof *values);
  for (int t = 0; t < NT; ++t) {
    MPI_Offset start[3] = {t, 0, 0}, count[3] = {1, 0, NX};
    share(t == NT - 1 ? written_rows : NY, &start[1], &count[1]);
    for (int i = 0; i < count[1] * NX; ++i)
      values[i] = (float)((((t * NY + (int)start[1]) * NX + i) * 7) % 1000 - 200);
    TRY(ncmpi_put_vara_float_all(id, var, start, count, values));
  }
  free(values);
}

static void put_maps(int id, int mask, int pressure, int flux) {
  MPI_Offset start[2] = {0, 0}, count[2] = {0, NX};
  int* m = malloc(NY * NX * sizeof *m);
  double *p = malloc(NY * NX * sizeof *p), *f = malloc(NY * NX * sizeof *f);
  share(NY, &start[0], &count[0]);
  for (int i = 0; i < count[0] * NX; ++i) {
    const int at = (int)start[0] * NX + i;
    m[i] = at;
    p[i] = at * 31 % 997 / 8.0;
    f[i] = at % 50 + 0.5;
  }
  TRY(ncmpi_put_vara_int_all(id, mask, start, count, m));
  TRY(ncmpi_put_vara_double_all(id, pressure, start, count, p));
  TRY(ncmpi_put_vara_double_all(id, flux, start, count, f));
  free(m);
  free(p);
  free(f);
}

/* The second definition: a variable behind the heap, and a long attribute. */
static void grow(int id, int x) {
  int later, values[NX];
  char* text = malloc(long_text);
  memset(text, 'a', long_text);
  for (int i = 0; i < NX; ++i) values[i] = 3 * i;
  TRY(ncmpi_redef(id));
  TRY(ncmpi_put_att_text(id, NC_GLOBAL, "history", long_text, text));
  TRY(ncmpi_def_var(id, "later", NC_INT, 1, &x, &later));
  TRY(ncmpi_enddef(id));
  TRY(ncmpi_put_var_int_all(id, later, values));
  free(text);
}

int main(int argc, char** argv) {
  int id, t, y, x, dims[3], temperature, mask, pressure, steps, flux;
  const MPI_Offset shape[3] = {2, 16, NX};
  const float fill = -999;
  short step[NT] = {100, 101, 102};
  MPI_Offset first = 0, all = NT;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) {
    fprintf(stderr, "usage: write_chunked FILE VERSION [grown]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  TRY(ncmpi_create(MPI_COMM_WORLD, argv[1],
                   NC_CLOBBER | (argv[2][0] == '5'   ? NC_64BIT_DATA
                                 : argv[2][0] == '2' ? NC_64BIT_OFFSET
                                                     : 0),
                   MPI_INFO_NULL, &id));
  TRY(ncmpi_def_dim(id, "t", NC_UNLIMITED, &t));
  TRY(ncmpi_def_dim(id, "y", NY, &y));
  TRY(ncmpi_def_dim(id, "x", NX, &x));
  dims[0] = t, dims[1] = y, dims[2] = x;
  TRY(ncmpi_def_var(id, "T", NC_FLOAT, 3, dims, &temperature));
  TRY(ncmpi_def_var(id, "m", NC_INT, 2, dims + 1, &mask));
  TRY(ncmpi_def_var(id, "P", NC_DOUBLE, 2, dims + 1, &pressure));
  TRY(ncmpi_def_var(id, "step", NC_SHORT, 1, dims, &steps));
  TRY(ncmpi_def_var(id, "F", NC_DOUBLE, 2, dims + 1, &flux));
  TRY(ncmpi_put_att_text(id, temperature, "units", 1, "K"));
  TRY(ncmpi_put_att_float(id, temperature, "_FillValue", NC_FLOAT, 1, &fill));
  TRY(ncmpi_put_att_text(id, NC_GLOBAL, "title", 6, "chunks"));
  TRY(ncmpi_var_set_chunk(id, temperature, shape));
  TRY(ncmpi_var_set_filter(id, temperature, "shuffle,deflate:6"));
  TRY(ncmpi_var_set_filter(id, pressure, "bitshuffle,zstd:3"));
  TRY(ncmpi_var_set_filter(id, flux, "float32,shuffle,deflate:1"));
  TRY(ncmpi_enddef(id));
  put_temperature(id, temperature);
  put_maps(id, mask, pressure, flux);
  TRY(ncmpi_put_vara_short_all(id, steps, &first, &all, step));
  if (argc > 3) grow(id, x);
  TRY(ncmpi_close(id));
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures != 0;
}
