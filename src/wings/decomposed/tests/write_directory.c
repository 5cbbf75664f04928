/* Writes a directory that is taken as one file, goes on with it, and shows it.
 *
 * Usage: write_directory FILE create|append|abandon|show
 *
 * T and U are stored as hints say, `clock` and `lat` in the file of definitions (check_directory.py
 * gives the rules). Value i of record n of T is 1000 n + i, of U its negative; that of clock is 10
 * n. `append` adds a record behind the last; `abandon` opens to write, and ends as by a kill;
 * `show` prints what there is.
 */
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERROR_TEXT ncmpi_strerror
#include "try.h"

enum { columns = 32 }; /* of a rank */

static int rank, ranks;

static int id_of(int id, const char* name) {
  int var = -1;
  TRY(ncmpi_inq_varid(id, name, &var));
  return var;
}

static MPI_Offset records_of(int id) {
  int time = -1;
  MPI_Offset n = -1;
  TRY(ncmpi_inq_unlimdim(id, &time));
  TRY(ncmpi_inq_dimlen(id, time, &n));
  return n;
}

static void write_record(int id, MPI_Offset n) {
  const MPI_Offset start[2] = {n, rank * columns}, count[2] = {1, columns}, one = 1;
  double t[columns], u[columns], clock = 10.0 * (double)n;
  for (int i = 0; i < columns; ++i) {
    t[i] = 1000.0 * (double)n + (double)(start[1] + i);
    u[i] = -t[i];
  }
  TRY(ncmpi_put_vara_double_all(id, id_of(id, "T"), start, count, t));
  TRY(ncmpi_put_vara_double_all(id, id_of(id, "U"), start, count, u));
  TRY(ncmpi_put_vara_double_all(id, id_of(id, "clock"), &n, &one, &clock));
}

static void create(const char* path) {
  int id = -1, time = -1, x = -1, var = -1;
  TRY(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_OFFSET, MPI_INFO_NULL, &id));
  TRY(ncmpi_def_dim(id, "time", NC_UNLIMITED, &time));
  TRY(ncmpi_def_dim(id, "x", columns * ranks, &x));
  const int dims[2] = {time, x};
  TRY(ncmpi_def_var(id, "clock", NC_DOUBLE, 1, dims, &var));
  TRY(ncmpi_def_var(id, "U", NC_DOUBLE, 2, dims, &var));
  TRY(ncmpi_def_var(id, "lat", NC_DOUBLE, 1, &x, &var));
  TRY(ncmpi_def_var(id, "T", NC_DOUBLE, 2, dims, &var));
  TRY(ncmpi_enddef(id));
  double lat[columns];
  for (int i = 0; i < columns; ++i) lat[i] = 0.5 * (rank * columns + i);
  const MPI_Offset start = rank * columns, count = columns;
  TRY(ncmpi_put_vara_double_all(id, id_of(id, "lat"), &start, &count, lat));
  for (MPI_Offset n = 0; n < 2; ++n) write_record(id, n);
  TRY(ncmpi_sync(id));
  TRY(ncmpi_close(id));
}

static void show(int id) {
  int vars = 0;
  TRY(ncmpi_inq_nvars(id, &vars));
  const MPI_Offset n = records_of(id), all = columns * ranks;
  double* values = malloc((size_t)((n + 1) * all) * sizeof *values);
  for (int var = 0; var < vars; ++var) {
    char name[NC_MAX_NAME + 1];
    int ndims = 0, dims[2];
    TRY(ncmpi_inq_var(id, var, name, NULL, &ndims, dims, NULL));
    MPI_Offset count[2] = {1, 1};
    const MPI_Offset start[2] = {0, 0};
    for (int d = 0; d < ndims; ++d) TRY(ncmpi_inq_dimlen(id, dims[d], &count[d]));
    TRY(ncmpi_get_vara_double_all(id, var, start, count, values));
    if (rank != 0) continue;
    printf("%s", name);
    for (MPI_Offset i = 0; i < count[0] * count[1]; ++i) printf(" %.17g", values[i]);
    printf("\n");
  }
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) return 2;
  const char* what = argv[2];
  if (strcmp(what, "create") == 0) {
    create(argv[1]);
  } else {
    int id = -1;
    const int code =
        ncmpi_open(MPI_COMM_WORLD, argv[1], strcmp(what, "show") == 0 ? NC_NOWRITE : NC_WRITE,
                   MPI_INFO_NULL, &id);
    TRY(code);
    if (code == NC_NOERR) {
      if (strcmp(what, "append") == 0) write_record(id, records_of(id));
      if (strcmp(what, "abandon") == 0) _exit(0);
      if (strcmp(what, "show") == 0) show(id);
      TRY(ncmpi_close(id));
    }
  }
  MPI_Finalize();
  return failures != 0;
}
