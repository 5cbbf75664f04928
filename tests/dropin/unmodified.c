/* An MPI program as a user of PnetCDF has it: it knows nothing of Forebay.
 *
 * Usage: unmodified FILE forebay|peer
 *
 * Writes and reads a file through the C interface, and says whether the library that answered is
 * the expected one. The same source serves the programs that are linked with another PnetCDF and
 * run under LD_PRELOAD, and the one that is compiled with the compat folder.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                   \
  do {                                                                              \
    int code_ = (call);                                                             \
    if (code_ != NC_NOERR) {                                                        \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, ncmpi_strerror(code_)); \
      ++failures;                                                                   \
    }                                                                               \
  } while (0)

int main(int argc, char** argv) {
  int failures = 0, total = 0, rank, size, id, dims[2], temperature, series, i, request[2];
  MPI_Offset start[2], count[2], records = 0;
  double row[8], back[8];
  short steps[3], steps_back[3];
  char text[16] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  if ((strstr(ncmpi_inq_libvers(), "Forebay") != NULL) != (strcmp(argv[2], "forebay") == 0)) {
    fprintf(stderr, "the library is %s, expected %s\n", ncmpi_inq_libvers(), argv[2]);
    ++failures;
  }
  TRY(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id));
  TRY(ncmpi_put_att_text(id, NC_GLOBAL, "title", 6, "dropin"));
  TRY(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]));
  TRY(ncmpi_def_dim(id, "x", 3, &dims[1]));
  TRY(ncmpi_def_var(id, "series", NC_SHORT, 2, dims, &series));
  TRY(ncmpi_def_dim(id, "row", size, &dims[0]));
  TRY(ncmpi_def_dim(id, "column", 8, &dims[1]));
  TRY(ncmpi_def_var(id, "temperature", NC_FLOAT, 2, dims, &temperature));
  TRY(ncmpi_enddef(id));
  for (i = 0; i < 8; ++i) row[i] = rank * 10 + i + 0.5;
  for (i = 0; i < 3; ++i) steps[i] = (short)(rank * 100 + i);
  start[0] = rank, start[1] = 0, count[0] = 1, count[1] = 8;
  TRY(ncmpi_put_vara_double_all(id, temperature, start, count, row));
  count[1] = 3;
  TRY(ncmpi_iput_vara_short(id, series, start, count, steps, &request[0]));
  TRY(ncmpi_wait_all(id, 1, request, NULL));
  TRY(ncmpi_close(id));

  TRY(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &id));
  TRY(ncmpi_get_att_text(id, NC_GLOBAL, "title", text));
  if (strcmp(text, "dropin") != 0) ++failures;
  TRY(ncmpi_inq_dimlen(id, 0, &records));
  if (records != size) ++failures;
  start[0] = (rank + 1) % size;
  TRY(ncmpi_iget_vara_short(id, series, start, count, steps_back, &request[0]));
  count[1] = 8;
  TRY(ncmpi_iget_vara(id, temperature, start, count, back, 8, MPI_DOUBLE, &request[1]));
  TRY(ncmpi_wait_all(id, 2, request, NULL));
  for (i = 0; i < 8; ++i) failures += back[i] != (double)start[0] * 10 + i + 0.5;
  for (i = 0; i < 3; ++i) failures += steps_back[i] != (short)(start[0] * 100 + i);
  TRY(ncmpi_close(id));
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d failures on %d ranks\n", ncmpi_inq_libvers(), total, size);
  MPI_Finalize();
  return total != 0;
}
