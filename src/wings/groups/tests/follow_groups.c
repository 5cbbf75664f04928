/* A program that writes steps slowly, and one that follows them (check_follow.py runs both).
 *
 *   follow_groups write PATH STEPS MILLISECONDS    a pause before each step
 *   follow_groups read PATH SECONDS                waits so long for the file and for each step
 *
 * The reader prints how many steps it has seen, and whether the file ended. It fails if a value is
 * wrong or a step is not whole. */
#include <forebay_groups.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { rows = 3, columns = 50, first_late = 2 };

static int rank, ranks;

static void check(int code) {
  if (code == 0) return;
  fprintf(stderr, "rank %d: %s\n", rank, forebay_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect(int holds, const char* what, long step) {
  if (holds) return;
  fprintf(stderr, "rank %d: step %ld: %s\n", rank, step, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value(long step, long row, long column) {
  return (double)(step * 1000000 + row * 1000 + column);
}

static void write_steps(const char* path, long steps, long pause) {
  int file;
  const int64_t x0 = (int64_t)rank * rows, total = (int64_t)ranks * rows;
  check(forebay_init("", MPI_COMM_WORLD));
  check(forebay_define_group("g", "C"));
  check(forebay_define_var("g", "step", "int64", "", "", "", ""));
  check(forebay_define_var("g", "x0", "int64", "", "", "", ""));
  check(forebay_define_var("g", "total", "int64", "", "", "", ""));
  check(forebay_define_var("g", "T", "double", "3,50", "total,50", "x0,0", ""));
  check(forebay_define_var("g", "late", "double", "3,50", "total,50", "x0,0", ""));
  check(forebay_define_attribute("g", "T/units", "K", "string"));
  check(forebay_define_attribute("g", "late/units", "m", "string"));
  check(forebay_open(&file, "g", path, "w", MPI_COMM_WORLD));
  for (int64_t step = 0; step < steps; ++step) {
    double values[rows][columns];
    usleep((useconds_t)(pause * 1000));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) values[i][j] = value(step, x0 + i, j);
    check(forebay_write(file, "step", &step));
    check(forebay_write(file, "x0", &x0));
    check(forebay_write(file, "total", &total));
    check(forebay_write(file, "T", values));
    if (step >= first_late) check(forebay_write(file, "late", values));
    check(forebay_end_step(file));
  }
  check(forebay_close(file));
}

/* Each rank reads some rows of all. */
static void check_step(int file, const char* name, int64_t step) {
  int64_t shape[2];
  check(forebay_inq_shape(file, name, step, shape, NULL));
  expect(shape[1] == columns, "another shape", step);
  const int64_t each = shape[0] / ranks;
  const int64_t start[2] = {rank * each, 0};
  const int64_t count[2] = {rank == ranks - 1 ? shape[0] - start[0] : each, columns};
  double* values = malloc((size_t)(count[0] * columns + 1) * sizeof *values);
  check(forebay_read_later(file, name, step, start, count, values));
  check(forebay_perform_reads(file));
  for (int64_t i = 0; i < count[0]; ++i)
    for (int64_t j = 0; j < columns; ++j)
      expect(values[i * columns + j] == value(step, start[0] + i, j), name, step);
  free(values);
}

static void read_steps(const char* path, double seconds) {
  int file, status = FOREBAY_STEP_OK;
  int64_t seen = 0, step = -1, said = -1;
  char begun[4096];
  snprintf(begun, sizeof begun, "%s/md.idx", path);
  for (double waited = 0; access(begun, R_OK) != 0 && waited < seconds; waited += 0.02)
    usleep(20000);
  const char* first_name = NULL;
  usleep(50000);
  check(forebay_open(&file, NULL, path, "r", MPI_COMM_WORLD));
  for (;;) {
    check(forebay_begin_step(file, seconds, &step, &status));
    if (status != FOREBAY_STEP_OK) break;
    expect(step == seen, "another number", step);
    check(forebay_read(file, "step", step, NULL, NULL, &said));
    expect(said == step, "step", step);
    check_step(file, "T", step);
    if (step >= first_late) check_step(file, "late", step);
    if (first_name == NULL) check(forebay_inq_varname(file, 0, &first_name));
    ++seen;
  }
  expect(first_name == NULL || strcmp(first_name, "step") == 0, "a name has moved", seen);
  expect(forebay_begin_step(file, -1, &step, &status) != 0, "-1 seconds are none", seen);
  for (int64_t earlier = 0; earlier < seen; ++earlier) check_step(file, "T", earlier);
  if (rank == 0)
    printf("%ld steps, %s\n", (long)seen, status == FOREBAY_STEP_END ? "end" : "not ready");
  check(forebay_close(file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 5 && strcmp(argv[1], "write") == 0)
    write_steps(argv[2], atol(argv[3]), atol(argv[4]));
  else if (argc == 4 && strcmp(argv[1], "read") == 0)
    read_steps(argv[2], atof(argv[3]));
  else
    MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
