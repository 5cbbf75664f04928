/* A program that names what it writes, and leaves where and how to an XML file (docs/groups.md).
 *
 *   mpicc groups.c -lforebay -o groups && mpiexec -n 4 ./groups groups.xml run.bp
 *
 * adios2 reads it:  bpls -l run.bp  or  python3 -c "import adios2;
 * print(adios2.FileReader('run.bp').read('T'))"
 */
#include <forebay_groups.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 6, columns = 64 };

static void check(int code) {
  if (code == 0) return;
  fprintf(stderr, "%s\n", forebay_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, size, file;
  static double temperature[rows][columns];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);

  const int64_t nx = rows, x0 = (int64_t)rank * rows, total = (int64_t)size * rows;
  check(forebay_init(argv[1], MPI_COMM_WORLD));
  check(forebay_open(&file, "history", argv[2], "w", MPI_COMM_WORLD));
  for (int step = 0; step < 5; ++step) {
    const double time = 0.25 * step;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        temperature[i][j] = 280 + 10 * sin(0.1 * (double)(x0 + i) + time) * cos(0.1 * j);
    check(forebay_write(file, "time", &time));
    check(forebay_write(file, "nx", &nx)); /* the dimensions of T name these */
    check(forebay_write(file, "x0", &x0));
    check(forebay_write(file, "total", &total));
    check(forebay_write_later(file, "T", temperature)); /* as it is until the step ends */
    check(forebay_end_step(file));
  }
  check(forebay_close(file));
  check(forebay_finalize());
  MPI_Finalize();
  return EXIT_SUCCESS;
}
