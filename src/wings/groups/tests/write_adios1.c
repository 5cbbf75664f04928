/* Writes a file with ADIOS 1, for check_adios1.py, which has the configuration and knows what is to
 * be in it: write_adios1 CONFIG PATH STEPS. Rank r has 2 + r rows. */
#include <adios.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { columns = 3, most_rows = 16 };

static void must(int failed, const char* what) {
  if (!failed) return;
  fprintf(stderr, "%s: %s\n", what, adios_get_last_errmsg());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_step(const char* path, int step, int rank, int ranks) {
  int rows = 2 + rank, before = 0, all = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r < rank) before += 2 + r;
    all += 2 + r;
  }
  const double level = step + 0.5;
  double T[most_rows * columns], nothing[most_rows];
  int timed[most_rows];
  float own[most_rows], wave[2 * most_rows];
  for (int n = 0; n < rows * columns; ++n) T[n] = 100 * step + columns * before + n;
  for (int n = 0; n < rows; ++n) {
    timed[n] = 1000 * step + before + n;
    own[n] = (float)(100 * step + 10 * rank + n);
    wave[2 * n] = (float)(before + n);
    wave[2 * n + 1] = (float)-step;
    nothing[n] = NAN;
  }
  char title[16];
  snprintf(title, sizeof title, "step%d", step);
  int64_t file;
  uint64_t total;
  must(adios_open(&file, "restart", path, step == 0 ? "w" : "a", MPI_COMM_WORLD), "adios_open");
  adios_group_size(file, 4096, &total);
  must(adios_write(file, "rows", &rows), "rows");
  must(adios_write(file, "all", &all), "all");
  must(adios_write(file, "before", &before), "before");
  must(adios_write(file, "/grid/level", (void*)&level), "level");
  must(adios_write(file, "/grid/T", T), "T");
  must(adios_write(file, "packed", T), "packed");
  must(adios_write(file, "timed", timed), "timed");
  must(adios_write(file, "own", own), "own");
  must(adios_write(file, "wave", wave), "wave");
  must(adios_write(file, "nothing", nothing), "nothing");
  must(adios_write(file, "title", title), "title");
  must(adios_close(file), "adios_close");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || 2 + ranks > most_rows) MPI_Abort(MPI_COMM_WORLD, 2);
  must(adios_init(argv[1], MPI_COMM_WORLD), "adios_init");
  for (int step = 0; step < atoi(argv[3]); ++step) write_step(argv[2], step, rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  adios_finalize(rank);
  MPI_Finalize();
  return 0;
}
