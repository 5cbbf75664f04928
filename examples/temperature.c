/* Writes a two-dimensional variable in parallel and reads it back: PnetCDF's interface, nothing of
 * Forebay's own.
 *
 *   mpicc temperature.c $(pkg-config --cflags --libs forebay) -o temperature
 *   mpiexec -n 4 ./temperature temperature.nc
 *   ncdump -h temperature.nc
 *
 * The grid has 4 rows for each rank; each rank writes its own rows with one collective call, then
 * reads the rows of the next rank and compares. Nothing here says how the bytes travel: set, for
 * example, FOREBAY_HINTS="transport=aggregated" to choose that when it runs, FOREBAY_REPORT=1 to
 * see where the time went.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_PER_RANK = 4, COLUMNS = 6 };

static void check(int status, const char* what) {
  if (status != NC_NOERR) {
    fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static float temperature(MPI_Offset row, MPI_Offset column) {
  return 273.15f + 10.0f * (float)row + (float)column;
}

static void write_rows(const char* path, int rank, int ranks) {
  int file, dims[2], variable, i, j;
  MPI_Offset start[2] = {(MPI_Offset)rank * ROWS_PER_RANK, 0}, count[2] = {ROWS_PER_RANK, COLUMNS};
  float mine[ROWS_PER_RANK][COLUMNS];

  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
        "create");
  check(ncmpi_def_dim(file, "y", (MPI_Offset)ranks * ROWS_PER_RANK, &dims[0]), "dimension y");
  check(ncmpi_def_dim(file, "x", COLUMNS, &dims[1]), "dimension x");
  check(ncmpi_def_var(file, "temperature", NC_FLOAT, 2, dims, &variable), "variable");
  check(ncmpi_put_att_text(file, variable, "units", 1, "K"), "attribute");
  check(ncmpi_enddef(file), "enddef");

  for (i = 0; i < ROWS_PER_RANK; i++)
    for (j = 0; j < COLUMNS; j++) mine[i][j] = temperature(start[0] + i, j);
  check(ncmpi_put_vara_float_all(file, variable, start, count, &mine[0][0]), "write");
  check(ncmpi_close(file), "close");
}

/* Number of values that differ from what was written. */
static int read_rows(const char* path, int rank, int ranks) {
  int file, variable, i, j, wrong = 0;
  MPI_Offset start[2] = {0, 0}, count[2] = {ROWS_PER_RANK, COLUMNS};
  float theirs[ROWS_PER_RANK][COLUMNS];

  start[0] = (MPI_Offset)((rank + 1) % ranks) * ROWS_PER_RANK;
  check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  check(ncmpi_inq_varid(file, "temperature", &variable), "inquire");
  check(ncmpi_get_vara_float_all(file, variable, start, count, &theirs[0][0]), "read");
  check(ncmpi_close(file), "close");
  for (i = 0; i < ROWS_PER_RANK; i++)
    for (j = 0; j < COLUMNS; j++) wrong += theirs[i][j] != temperature(start[0] + i, j);
  return wrong;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "temperature.nc";
  int rank, ranks, wrong, all_wrong;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  write_rows(path, rank, ranks);
  wrong = read_rows(path, rank, ranks);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d ranks, %d wrong values\n", path, ranks, all_wrong);
  MPI_Finalize();
  return all_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
