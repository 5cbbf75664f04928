/* Reads all variables of BP4 directories, whoever wrote them, in all steps: all ranks together,
 * each a slab along the fastest dimension, and in another round all of it; what each reads alone
 * must be the same. Prints how many arrays were compared.
 *
 * read_groups FILE... */
#include <forebay_groups.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_dimensions = 32, most_arrays = 4096 };

static int rank, size, faults;

struct array {
  const char* name;
  int64_t step, start[most_dimensions], count[most_dimensions], bytes;
  int ndims, refused;
  char *together, *alone;
};

/* A box of 1/size of the variable, or all of it; nothing where a step does not have it. */
static int choose(int f, struct array* one, int whole) {
  int64_t shape[most_dimensions], all = 0, elements = 1;
  if (forebay_inq_var(f, one->name, NULL, &one->ndims) != 0 ||
      forebay_inq_shape(f, one->name, one->step, shape, &all) != 0)
    return 0;
  for (int d = 0; d < one->ndims; ++d) {
    elements *= shape[d];
    one->start[d] = 0;
    one->count[d] = shape[d];
  }
  one->bytes = all;
  if (one->ndims > 0 && elements > 0 && !whole) {
    const int64_t extent = shape[one->ndims - 1];
    one->start[one->ndims - 1] = extent * rank / size;
    one->count[one->ndims - 1] = extent * (rank + 1) / size - extent * rank / size;
    one->bytes = all / extent * one->count[one->ndims - 1];
  }
  one->together = calloc((size_t)one->bytes + 1, 1);
  one->alone = calloc((size_t)one->bytes + 1, 1);
  return 1;
}

static int read_all(const char* path, int whole) {
  static struct array arrays[most_arrays];
  int f = 0, nvars = 0, n = 0, compared = 0;
  int64_t steps = 0;
  if (forebay_open(&f, NULL, path, "r", MPI_COMM_WORLD) != 0 || forebay_inq_steps(f, &steps) != 0 ||
      forebay_inq_nvars(f, &nvars) != 0)
    MPI_Abort(MPI_COMM_WORLD, 2);
  for (int v = 0; v < nvars; ++v)
    for (int64_t step = 0; step < steps && n < most_arrays; ++step) {
      struct array* one = &arrays[n];
      one->step = step;
      if (forebay_inq_varname(f, v, &one->name) == 0 && choose(f, one, whole)) ++n;
    }
  for (int i = 0; i < n; ++i) {
    struct array* one = &arrays[i];
    one->refused =
        forebay_read_later(f, one->name, one->step, one->start, one->count, one->together);
  }
  if (forebay_perform_reads(f) != 0) {
    fprintf(stderr, "rank %d: %s\n", rank, forebay_error_message());
    ++faults;
  }
  for (int i = 0; i < n; ++i) {
    struct array* one = &arrays[i];
    const int refused = forebay_read(f, one->name, one->step, one->start, one->count, one->alone);
    if (refused != one->refused ||
        (refused == 0 && memcmp(one->together, one->alone, (size_t)one->bytes) != 0)) {
      fprintf(stderr, "rank %d: %s of step %d differs (%d, %d)\n", rank, one->name, (int)one->step,
              one->refused, refused);
      ++faults;
    }
    if (refused == 0) ++compared;
    free(one->together);
    free(one->alone);
  }
  if (forebay_close(f) != 0) ++faults;
  return compared;
}

int main(int argc, char** argv) {
  int all = 0, compared = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; ++i)
    for (int whole = 0; whole < 2; ++whole) compared += read_all(argv[i], whole);
  if (rank == 0) printf("%d arrays\n", compared);
  MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
