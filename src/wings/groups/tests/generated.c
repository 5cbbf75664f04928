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

/* The rank that wrote a row of what lies in the order of ranks; the row becomes that of its block.
 */
static int writer_of(long* row) {
  int r = 0;
  for (; *row >= rows_of(r); ++r) *row -= rows_of(r);
  return r;
}

static void look_at(int step, int turn) {
  for (int i = 0; i < nx * 8; ++i) {
    require(temperature[i] == 1000 * step + (double)(x0 * 8 + i), "T");
    require(grid[i] == (float)(x0 * 8 + i), "grid, of the first step");
  }
  /* These lie in the order of ranks, whatever share of T a rank takes. */
  long below = 0;
  for (int r = 0; r < rank; ++r) below += rows_of((r + turn) % size);
  for (int i = 0; i < np * 7; ++i)
    require(ions[i] == 1000 * (float)step + (float)(below * 7 + i), "ions");
  for (int i = 0; i < np; ++i) {
    long row = below + i;
    const int writer = writer_of(&row);
    require(own[i] == 100 * writer + step + row, "own");
  }
}

static void read_all(int f, int turn) {
  take_share(turn);
  make_room();
  for (int step = 0; step < 7; ++step) {
    require(read_step(f, step, MPI_COMM_WORLD) == 0, "reading");
    look_at(step, turn);
  }
  require(read_step(f, 7, MPI_COMM_WORLD) != 0, "a step that there is not");
  give_up_room();
}

/* Statements that divide by 0 are refused by the library, or by themselves. */
static int write_share(int forebay_file, int parts, const double* share) {
  const int n = 6;
  int forebay_status = 0;
#include "gwrite_divided.ch"
  return forebay_status;
}

static int read_share(int forebay_file, int parts, double* share) {
  const int n = 6;
  const int64_t forebay_step = 0;
  const MPI_Comm forebay_comm = MPI_COMM_WORLD;
  int forebay_status = 0;
#include "gread_divided.ch"
  return forebay_status;
}

static void divide(const char* xml, const char* path) {
  double share[3] = {rank, 2, 3};
  int f = 0;
  require(forebay_init(xml, MPI_COMM_WORLD) == 0, "init");
  require(forebay_open(&f, "divided", path, "w", MPI_COMM_WORLD) == 0, "open");
  require(write_share(f, 4, share) == 0, "writing 6/2");
  require(forebay_end_step(f) == 0, "end_step");
  require(write_share(f, 0, share) != 0, "writing 6/0");
  require(forebay_close(f) == 0, "close");
  require(forebay_open(&f, NULL, path, "r", MPI_COMM_WORLD) == 0, "open to read");
  share[0] = share[1] = share[2] = -1;
  require(read_share(f, 0, share) != 0, "reading 6/0");
  require(share[0] == -1, "nothing is read");
  require(read_share(f, 4, share) == 0, "reading 6/2");
  require(share[0] == rank && share[1] == 2 && share[2] == 3, "share");
  require(forebay_close(f) == 0, "close");
  require(forebay_finalize() == 0, "finalize");
}

int main(int argc, char** argv) {
  int f = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
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
  divide(argv[3], argv[4]);
  MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
