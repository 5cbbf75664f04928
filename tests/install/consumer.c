/* A program of somebody else: it knows pnetcdf.h (and, built with -DWITH_FOREBAY, forebay.h), MPI,
 * and nothing more. Writes one value a rank and reads the next rank's. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>
#ifdef WITH_FOREBAY
#include <forebay.h>
#if __has_include(<forebay_bundle.h>) /* where the wing is built */
#include <forebay_bundle.h>
#endif
#if __has_include(<forebay_groups.h>)
#include <forebay_groups.h>
#endif
#endif

#define CHECK(call)                                                        \
  do {                                                                     \
    int status_ = (call);                                                  \
    if (status_ != NC_NOERR) {                                             \
      fprintf(stderr, "line %d: %s\n", __LINE__, ncmpi_strerror(status_)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                        \
    }                                                                      \
  } while (0)

int main(int argc, char** argv) {
  int rank, ranks, file, dim, var, wrong, all_wrong;
  double value, got = 0;
  MPI_Offset index, one = 1;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  CHECK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER, MPI_INFO_NULL, &file));
  CHECK(ncmpi_def_dim(file, "rank", ranks, &dim));
  CHECK(ncmpi_def_var(file, "value", NC_DOUBLE, 1, &dim, &var));
  CHECK(ncmpi_enddef(file));
  value = 1.5 * (rank + 1);
  index = rank;
  CHECK(ncmpi_put_var1_double_all(file, var, &index, &value));
  CHECK(ncmpi_close(file));

  CHECK(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
  index = (rank + 1) % ranks;
  CHECK(ncmpi_get_vara_double_all(file, var, &index, &one, &got));
  CHECK(ncmpi_close(file));
  wrong = got != 1.5 * (double)(index + 1);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#ifdef WITH_FOREBAY
  if (forebay_version()[0] == '\0') all_wrong++;
  if (forebay_version_number() != FOREBAY_VERSION_NUMBER) all_wrong++;
#endif
  /* The tests of the installed tree look for this line, and for which library answered. */
  if (rank == 0) printf("wrong values: %d; library: %s\n", all_wrong, ncmpi_inq_libvers());
  MPI_Finalize();
  return all_wrong != 0;
}
