/* Writes three files of very different sizes together, the ranks divided among them.
 *
 *   mpicc bundle.c $(pkg-config --cflags --libs forebay) -o bundle
 *   mpiexec -n 4 ./bundle out
 *   forebay info out.0.nc
 *
 * Without the four calls of forebay_bundle the same files are written one after another. A program
 * that cannot be changed has the same by FOREBAY_HINTS="bundle=step;bundle_files=3".
 */
#include <forebay_bundle.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { files = 3, width = 1000 };

static void check(int code, const char* what) {
  if (code == NC_NOERR) return;
  fprintf(stderr, "%s: %s\n", what, forebay_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  static const int levels[files] = {40, 8, 1};
  int rank, size, bundle, statuses[files], f, i;
  char plan[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  check(forebay_bundle_open(MPI_COMM_WORLD, "step", MPI_INFO_NULL, &bundle), "forebay_bundle_open");
  for (f = 0; f < files; ++f) {
    char path[1024];
    int id, dims[2], var;
    const MPI_Offset start[2] = {0, (MPI_Offset)width * rank}, count[2] = {levels[f], width};
    float* values = malloc(sizeof(float) * (size_t)levels[f] * width);
    for (i = 0; i < levels[f] * width; ++i) values[i] = (float)(rank + i * 0.001);
    snprintf(path, sizeof path, "%s.%d.nc", argv[1], f);
    check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id), path);
    check(forebay_bundle_add(bundle, id), path);
    check(ncmpi_def_dim(id, "level", levels[f], &dims[0]), "ncmpi_def_dim");
    check(ncmpi_def_dim(id, "x", (MPI_Offset)width * size, &dims[1]), "ncmpi_def_dim");
    check(ncmpi_def_var(id, "field", NC_FLOAT, 2, dims, &var), "ncmpi_def_var");
    check(ncmpi_enddef(id), "ncmpi_enddef");
    check(ncmpi_put_vara_float_all(id, var, start, count, values), "ncmpi_put_vara_float_all");
    free(values); /* what waits is a copy */
  }
  check(forebay_bundle_flush(bundle), "forebay_bundle_flush");
  forebay_bundle_plan(bundle, plan, sizeof plan);
  if (rank == 0) printf("%s\n", plan);
  check(forebay_bundle_close(bundle, statuses), "forebay_bundle_close");
  MPI_Finalize();
  return 0;
}
