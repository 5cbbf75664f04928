/* Writes the group of write_groups.c by generated code, with the same values, and reads it back: on
 * all ranks what each wrote, and then in shares of other sizes. */
#include <forebay_groups.h>
#include <stdio.h>
#include <stdlib.h>

/* As it may be in a program: other types than those of the file, and names that XML tells. */
static int nx, np;
static long x0, total;
static double* temperature;
static float *grid, *ions;
static int16_t* own;
static char title[32];
static int rank, size, faults;

static void require(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, forebay_error_message());
  ++faults;
}

static int rows_of(int r) { return size > 2 && r == 1 ? 0 : r + 2; }

/* `turn`: what the rank `turn` places further on wrote. */
static void take_share(int turn) {
  const int me = (rank + turn) % size;
  nx = np = rows_of(me);
  x0 = total = 0;
  for (int r = 0; r < size; ++r) {
    if (r < me) x0 += rows_of(r);
    total += rows_of(r);
  }
}

static void make_room(void) {
  temperature = calloc((size_t)nx * 8 + 1, sizeof *temperature);
  grid = calloc((size_t)nx * 8 + 1, sizeof *grid);
  ions = calloc((size_t)np * 7 + 1, sizeof *ions);
  own = calloc((size_t)np + 1, sizeof *own);
}

static void give_up_room(void) {
  free(temperature);
  free(grid);
  free(ions);
  free(own);
}

static int write_step(int forebay_file, int step) {
  int forebay_status = 0;
  for (int i = 0; i < nx * 8; ++i) temperature[i] = 1000 * step + (double)(x0 * 8 + i);
  for (int i = 0; i < nx * 8; ++i) grid[i] = 1000 * (float)step + (float)(x0 * 8 + i);
  for (int i = 0; i < np * 7; ++i) ions[i] = 1000 * (float)step + (float)(x0 * 7 + i);
  for (int i = 0; i < np; ++i) own[i] = (int16_t)(100 * rank + step + i);
  snprintf(title, sizeof title, "step %d", step);
#include "gwrite_restart.ch"
  return forebay_status;
}

static int read_step(int forebay_file, int64_t forebay_step, MPI_Comm forebay_comm) {
  int forebay_status = 0;
#include "gread_restart.ch"
  return forebay_status;
}

static void look_at(int step, int owner) {
  for (int i = 0; i < nx * 8; ++i) {
    require(temperature[i] == 1000 * step + (double)(x0 * 8 + i), "T");
    require(grid[i] == (float)(x0 * 8 + i), "grid, of the first step");
  }
  /* These lie in the order of ranks, whatever share of T a rank takes. */
  for (int i = 0; i < np * 7 && owner == rank; ++i)
    require(ions[i] == 1000 * (float)step + (float)(x0 * 7 + i), "ions");
  for (int i = 0; i < np && owner == rank; ++i) require(own[i] == 100 * rank + step + i, "own");
}

static void read_all(int f, int turn) {
  take_share(turn);
  make_room();
  for (int step = 0; step < 7; ++step) {
    require(read_step(f, step, MPI_COMM_WORLD) == 0, "reading");
    look_at(step, (rank + turn) % size);
  }
  require(read_step(f, 7, MPI_COMM_WORLD) != 0, "a step that there is not");
  give_up_room();
}

int main(int argc, char** argv) {
  int f = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  take_share(0);
  make_room();
  require(forebay_init(argv[1], MPI_COMM_WORLD) == 0, "init");
  require(forebay_open(&f, "restart", argv[2], "w", MPI_COMM_WORLD) == 0, "open");
  for (int step = 0; step < 7; ++step) {
    require(write_step(f, step) == 0, "writing");
    require(forebay_end_step(f) == 0, "end_step");
  }
  require(write_step(-1, 0) != 0, "writing nowhere");
  require(forebay_close(f) == 0, "close");
  give_up_room();
  require(forebay_open(&f, NULL, argv[2], "r", MPI_COMM_WORLD) == 0, "open to read");
  read_all(f, 0);
  read_all(f, 1);
  require(forebay_close(f) == 0, "close");
  require(forebay_finalize() == 0, "finalize");
  MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
