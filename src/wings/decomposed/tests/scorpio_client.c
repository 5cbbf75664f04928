/* Writes history as Scorpio does between a climate model and PnetCDF: some of the variables a
 * `wait_all`, what no rank computes filled by a second `iput_varn`, and appending on other numbers
 * of ranks, with other decompositions. Then every rank reads what all have written.
 *
 * Usage: scorpio_client FILE
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_TEXT ncmpi_strerror
#include "try.h"

enum { LEVELS = 3, COLUMNS = 150, VARIABLES = 6, RECORDS = 6, AT_ONCE = 2 };
#define NOBODYS (-99)

/* Of odd numbers: of the air. Half of them are doubles in the file. */
static int levels_of(int v) { return v % 2 == 1 ? LEVELS : 1; }
static int is_land(int column) { return column % 7 == 3; } /* nobody computes there */

/* By how many ranks, and in which turn, a record was written last. */
static int value(int turn, int v, int record, int level, int column) {
  return is_land(column) ? NOBODYS
                         : turn * 1000000 + v * 100000 + record * 10000 + level * 1000 + column;
}

/* Columns are dealt to the ranks, in another way each turn; land goes to the first of each two, as
 * to those that do Scorpio's input and output. */
static int holder(int column, int turn, int ranks) {
  const int dealt = (column * (2 * turn + 3) / 4 + turn) % ranks;
  return is_land(column) ? dealt / 2 * 2 : dealt;
}

/* One variable and record of this rank: what it computes, or land. Buffers live until `wait_all`.
 */
static void post(int id, int var, int v, int record, int turn, int rank, int ranks, int land,
                 int* values) {
  MPI_Offset place[LEVELS * COLUMNS][3], extent[LEVELS * COLUMNS][3];
  MPI_Offset *starts[LEVELS * COLUMNS], *counts[LEVELS * COLUMNS];
  int n = 0, level, column, d;
  for (level = 0; level < levels_of(v); ++level) {
    for (column = 0; column < COLUMNS; ++column) {
      if (is_land(column) != land || holder(column, turn, ranks) != rank) continue;
      d = 0;
      place[n][d++] = record;
      if (levels_of(v) > 1) place[n][d++] = level;
      place[n][d] = column;
      extent[n][0] = extent[n][1] = extent[n][2] = 1;
      starts[n] = place[n], counts[n] = extent[n];
      values[n++] = value(turn, v, record, level, column);
    }
  }
  TRY(ncmpi_iput_varn_int(id, var, n, starts, counts, values, NULL));
}

static void write_records(int id, int turn, int first, int last, MPI_Comm comm) {
  static int values[VARIABLES][2][LEVELS * COLUMNS];
  int rank, ranks, v, record, var;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (record = first; record < last; ++record) {
    const MPI_Offset start = record, count = rank == 0;
    const double time = record + 0.5;
    TRY(ncmpi_inq_varid(id, "time", &var));
    TRY(ncmpi_put_vara_double_all(id, var, &start, &count, &time));
    for (v = 0; v < VARIABLES; ++v) {
      char name[] = "v0";
      name[1] = (char)('0' + v);
      TRY(ncmpi_inq_varid(id, name, &var));
      post(id, var, v, record, turn, rank, ranks, 0, values[v][0]);
      post(id, var, v, record, turn, rank, ranks, 1, values[v][1]);
      if (v % AT_ONCE == AT_ONCE - 1) TRY(ncmpi_wait_all(id, NC_REQ_ALL, NULL, NULL));
    }
  }
}

static int define(const char* path) {
  int id, dims[3], surface[2], var, v;
  char name[] = "v0";
  TRY(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id));
  TRY(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]));
  TRY(ncmpi_def_dim(id, "lev", LEVELS, &dims[1]));
  TRY(ncmpi_def_dim(id, "ncol", COLUMNS, &dims[2]));
  surface[0] = dims[0], surface[1] = dims[2];
  TRY(ncmpi_def_var(id, "time", NC_DOUBLE, 1, dims, &var));
  for (v = 0; v < VARIABLES; ++v) {
    name[1] = (char)('0' + v);
    TRY(ncmpi_def_var(id, name, v < VARIABLES / 2 ? NC_INT : NC_DOUBLE, levels_of(v) > 1 ? 3 : 2,
                      levels_of(v) > 1 ? dims : surface, &var));
  }
  TRY(ncmpi_enddef(id));
  return id;
}

static void expect(const char* path, const int* turns) {
  static double found[RECORDS * LEVELS * COLUMNS];
  int id, var, v, record, level, column, time;
  MPI_Offset records = 0;
  TRY(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &id));
  TRY(ncmpi_inq_unlimdim(id, &time));
  TRY(ncmpi_inq_dimlen(id, time, &records));
  if (records != RECORDS) {
    fprintf(stderr, "%lld records\n", (long long)records);
    ++failures;
    return;
  }
  for (v = 0; v < VARIABLES; ++v) {
    char name[] = "v0";
    const double* at = found;
    int wrong = 0;
    name[1] = (char)('0' + v);
    TRY(ncmpi_inq_varid(id, name, &var));
    memset(found, 0, sizeof found);
    TRY(ncmpi_get_var_double_all(id, var, found));
    for (record = 0; record < RECORDS; ++record)
      for (level = 0; level < levels_of(v); ++level)
        for (column = 0; column < COLUMNS; ++column)
          wrong += *at++ != value(turns[record], v, record, level, column);
    if (wrong == 0) continue;
    fprintf(stderr, "%s: %d wrong values\n", name, wrong);
    ++failures;
  }
  TRY(ncmpi_inq_varid(id, "time", &var));
  TRY(ncmpi_get_var_double_all(id, var, found));
  for (record = 0; record < RECORDS; ++record) failures += found[record] != record + 0.5;
  TRY(ncmpi_close(id));
}

int main(int argc, char** argv) {
  int rank, ranks, id, all;
  const int turns[RECORDS] = {0, 2, 0, 1, 1, 2}; /* the last one that wrote each record */
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  id = define(argv[1]);
  write_records(id, 0, 0, 3, MPI_COMM_WORLD);
  TRY(ncmpi_close(id));
  MPI_Comm_split(MPI_COMM_WORLD, rank < (ranks + 1) / 2 ? 0 : MPI_UNDEFINED, 0, &half);
  if (half != MPI_COMM_NULL) {
    TRY(ncmpi_open(half, argv[1], NC_WRITE, MPI_INFO_NULL, &id));
    write_records(id, 1, 3, 5, half);
    TRY(ncmpi_close(id));
    MPI_Comm_free(&half);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  TRY(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_WRITE, MPI_INFO_NULL, &id));
  write_records(id, 2, 5, 6, MPI_COMM_WORLD);
  write_records(id, 2, 1, 2, MPI_COMM_WORLD); /* again */
  TRY(ncmpi_close(id));
  expect(argv[1], turns);
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
