/* Writes history as a climate model does: many variables by a few decompositions, each defined
 * once.
 *
 *   mpicc history.c $(pkg-config --cflags --libs forebay) -o history
 *   mpiexec -n 4 ./history history.nc
 *   forebay info history.nc
 *   forebay convert history.nc plain.nc; ncdump -h plain.nc
 *
 * Columns of the atmosphere are dealt to the ranks like cards, some are nobody's. A map tells which
 * are whose: of the surface, columns; of the air, levels x columns. From there on a write is one
 * call without starts and counts but the record's, and values are stored as the ranks hold them. A
 * restart on as many ranks reads them in the same way; any other program reads an array.
 *
 * With FOREBAY_HINTS="layout=canonical" the same program writes a plain netCDF file.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 5, COLUMNS = 200, RECORDS = 5, SURFACE = 4, AIR = 3 };

typedef struct {
  int nreqs;                     /* pieces of this rank */
  MPI_Offset elements;           /* of this rank */
  MPI_Offset **starts, **counts; /* of each piece */
  MPI_Offset* places;            /* of each element, in the array */
} map;

static void check(int status, const char* what) {
  if (status != NC_NOERR) {
    fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void* memory(size_t bytes) {
  void* at = malloc(bytes > 0 ? bytes : 1);
  if (at == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return at;
}

static int owner(MPI_Offset column, int ranks) {
  return column % 17 == 5 ? -1 : (int)((column * 2654435761u >> 5) % (unsigned)ranks);
}

/* The columns of a rank, on `levels` levels; ndims is 1 for the surface. */
static map make_map(int rank, int ranks, int levels, int ndims) {
  map m = {0, 0, NULL, NULL, NULL};
  const size_t most = (size_t)levels * COLUMNS;
  int level, d;
  MPI_Offset column;
  m.starts = memory(most * sizeof *m.starts);
  m.counts = memory(most * sizeof *m.counts);
  m.places = memory(most * sizeof *m.places);
  for (level = 0; level < levels; level++) {
    for (column = 0; column < COLUMNS; column++) {
      if (owner(column, ranks) != rank) continue;
      m.starts[m.nreqs] = memory(2 * sizeof(MPI_Offset));
      m.counts[m.nreqs] = memory(2 * sizeof(MPI_Offset));
      for (d = 0; d < ndims; d++) {
        m.starts[m.nreqs][d] = d == ndims - 1 ? column : level;
        m.counts[m.nreqs][d] = 1;
      }
      m.places[m.elements++] = (MPI_Offset)level * COLUMNS + column;
      m.nreqs++;
    }
  }
  return m;
}

static void free_map(map* m) {
  int i;
  for (i = 0; i < m->nreqs; i++) {
    free(m->starts[i]);
    free(m->counts[i]);
  }
  free(m->starts);
  free(m->counts);
  free(m->places);
}

static float value(int variable, MPI_Offset record, MPI_Offset place) {
  return (float)(1000 * variable + 100 * record) + (float)place / 8;
}

static void write_history(const char* path, const map* surface, const map* air) {
  int file, time, dims[2], maps[2], variables[SURFACE + AIR], v;
  float* values[SURFACE + AIR];
  MPI_Offset record, i;
  char name[16];

  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
        "create");
  check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time), "dimension time");
  check(ncmpi_def_dim(file, "lev", LEVELS, &dims[0]), "dimension lev");
  check(ncmpi_def_dim(file, "ncol", COLUMNS, &dims[1]), "dimension ncol");
  check(ncmpi_def_decom(file, 1, &dims[1], surface->nreqs, surface->starts, surface->counts,
                        &maps[0]),
        "map of the surface");
  check(ncmpi_def_decom(file, 2, dims, air->nreqs, air->starts, air->counts, &maps[1]),
        "map of the air");
  for (v = 0; v < SURFACE + AIR; v++) {
    sprintf(name, v < SURFACE ? "surface%d" : "air%d", v);
    check(ncmpi_def_decom_var(file, name, NC_FLOAT, 1, &time, maps[v < SURFACE ? 0 : 1],
                              &variables[v]),
          name);
  }
  check(ncmpi_enddef(file), "enddef");

  for (v = 0; v < SURFACE + AIR; v++)
    values[v] = memory((size_t)(v < SURFACE ? surface : air)->elements * sizeof(float));
  for (record = 0; record < RECORDS; record++) {
    const MPI_Offset count = 1;
    for (v = 0; v < SURFACE + AIR; v++) {
      const map* m = v < SURFACE ? surface : air;
      for (i = 0; i < m->elements; i++) values[v][i] = value(v, record, m->places[i]);
      check(ncmpi_iput_decom_float(file, variables[v], &record, &count, values[v], NULL), "write");
      /* As libraries between a model and this one do: no more than some variables at a time. */
      if (v == SURFACE - 1) check(ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL), "wait");
    }
    check(ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL), "wait");
  }
  check(ncmpi_close(file), "close");
  for (v = 0; v < SURFACE + AIR; v++) free(values[v]);
}

/* Number of values that differ from what was written. */
static int restart(const char* path, const map* air) {
  int file, variable, decomposition, wrong = 0;
  MPI_Offset start = RECORDS - 1, count = 1, elements = 0, i;
  float* values;

  check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  check(ncmpi_inq_varid(file, "air5", &variable), "inquire");
  check(ncmpi_inq_var_decom(file, variable, &decomposition), "inquire");
  if (decomposition >= 0) { /* else another layout was asked for, which keeps no maps */
    check(ncmpi_inq_decom(file, decomposition, NULL, NULL, NULL, NULL, &elements), "map");
    if (elements != air->elements) MPI_Abort(MPI_COMM_WORLD, 1);
    values = memory((size_t)elements * sizeof(float));
    check(ncmpi_get_decom_float_all(file, variable, &start, &count, values), "read");
    for (i = 0; i < elements; i++) wrong += values[i] != value(5, start, air->places[i]);
    free(values);
  }
  check(ncmpi_close(file), "close");
  return wrong;
}

/* The same of one level, as a program reads that knows nothing of maps. */
static int read_level(const char* path, int ranks) {
  int file, variable, wrong = 0;
  const MPI_Offset start[3] = {2, 3, 0}, count[3] = {1, 1, COLUMNS};
  float values[COLUMNS];
  MPI_Offset i;

  check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  check(ncmpi_inq_varid(file, "air4", &variable), "inquire");
  check(ncmpi_get_vara_float_all(file, variable, start, count, values), "read");
  check(ncmpi_close(file), "close");
  for (i = 0; i < COLUMNS; i++)
    if (owner(i, ranks) >= 0) wrong += values[i] != value(4, 2, 3 * COLUMNS + i);
  return wrong;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "history.nc";
  int rank, ranks, wrong, all_wrong;
  map surface, air;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  surface = make_map(rank, ranks, 1, 1);
  air = make_map(rank, ranks, LEVELS, 2);
  write_history(path, &surface, &air);
  wrong = restart(path, &air) + read_level(path, ranks);
  free_map(&surface);
  free_map(&air);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d ranks, %d wrong values\n", path, ranks, all_wrong);
  MPI_Finalize();
  return all_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
