/* Writes a group by the methods that an XML file has for it, or reads it again: write_methods XML
 * PATH MODE FIRST STEPS [END]. MODE is w, a or r, FIRST the number of the first step. END: "leave"
 * ends the program without closing the file, "open" calls MPI_Finalize alone, "call" defines PHDF5
 * by a call before all else, "fail" prints what each call said instead of failing. Rank 1 of three
 * or more has nothing, and the last one is late. */
#include <forebay_groups.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { columns = 8 };

static int rank, size, goes_on;

static void check(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "rank %d: %s: %d: %s\n", rank, what, code, forebay_error_message());
  fflush(stderr);
  if (!goes_on) MPI_Abort(MPI_COMM_WORLD, 1);
}
#define OK(call) check(call, #call)

static int rows_of(int r) { return size > 2 && r == 1 ? 0 : 40 + 3 * r; }
static int rows_before(int r) {
  int rows = 0;
  for (int i = 0; i < r; ++i) rows += rows_of(i);
  return rows;
}
static double value(int step, int64_t at) { return 1000000.0 * step + (double)at; }

static void write_step(int f, int step) {
  const int nx = rows_of(rank), x0 = rows_before(rank), total = rows_before(size);
  double* copied = malloc((size_t)(nx * columns + 1) * sizeof(double));
  double* lent = malloc((size_t)(nx * columns + 1) * sizeof(double));
  float* grid = malloc((size_t)(nx + 1) * sizeof(float));
  for (int i = 0; i < nx * columns; ++i) {
    copied[i] = value(step, x0 * columns + i);
    lent[i] = -copied[i];
  }
  for (int i = 0; i < nx; ++i) grid[i] = (float)(x0 + i);
  char title[32];
  snprintf(title, sizeof title, "step %d", step);
  if (rank == size - 1) usleep(3000);
  OK(forebay_write(f, "nx", &nx));
  OK(forebay_write(f, "x0", &x0));
  OK(forebay_write(f, "total", &total));
  OK(forebay_write(f, "title", title));
  OK(forebay_write(f, "grid", grid));
  OK(forebay_write(f, "T", copied));
  memset(copied, 0, (size_t)(nx * columns) * sizeof(double)); /* it was copied */
  OK(forebay_write_later(f, "U", lent));
  OK(forebay_end_step(f));
  free(copied);
  free(lent);
  free(grid);
}

static void read_all(int f, int steps) {
  int64_t there = 0;
  OK(forebay_inq_steps(f, &there));
  if (there != steps) {
    fprintf(stderr, "rank %d: %lld steps, not %d\n", rank, (long long)there, steps);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int total = rows_before(size);
  double* values = malloc((size_t)(total * columns) * sizeof(double));
  for (int step = 0; step < steps; ++step) {
    OK(forebay_read(f, "T", step, NULL, NULL, values));
    for (int i = 0; i < total * columns; ++i)
      if (values[i] != value(step, i)) {
        fprintf(stderr, "rank %d: T[%d] of step %d is %g\n", rank, i, step, values[i]);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
  }
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const end = argc > 6 ? argv[6] : "";
  const int first = atoi(argv[4]), steps = atoi(argv[5]);
  int f = 0;
  goes_on = strcmp(end, "fail") == 0;
  OK(forebay_init(argv[1], MPI_COMM_WORLD));
  if (strcmp(end, "call") == 0) OK(forebay_define_method("run", "method=PHDF5"));
  OK(forebay_open(&f, "run", argv[2], argv[3], MPI_COMM_WORLD));
  if (f > 0 && strcmp(argv[3], "r") == 0)
    read_all(f, steps);
  else if (f > 0)
    for (int step = first; step < first + steps; ++step) write_step(f, step);
  if (strcmp(end, "leave") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
  }
  if (f > 0 && strcmp(end, "open") != 0) OK(forebay_close(f));
  OK(forebay_finalize());
  MPI_Finalize();
  return EXIT_SUCCESS;
}
