/* Writes groups through the C interface: one that XML declares, one that calls do. Rank 1 of three
 * or more has nothing; another one is late, and writes what is refused: the others' steps are
 * whole. */
#include <forebay_groups.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, faults;

static void require(int code, int expected, const char* what) {
  if (code == expected) return;
  fprintf(stderr, "rank %d: %s: %d, not %d: %s\n", rank, what, code, expected,
          forebay_error_message());
  ++faults;
}
#define OK(call) require(call, 0, #call)
#define ERR(code, call) require(call, code, #call)

enum {
  enotvar = -49,
  einval = -36,
  ebadtype = -45,
  ebaddim = -46,
  enomem = -61,
  eedge = -57,
  eperm = -37,
  einvalcoords = -40,
  echar = -56,
  enoent = -220,
  ebadid = -33,
  erange = -60,
  evarsize = -62,
  enotsupport = -214,
  emultidefine = -269
};

static int64_t rows_of(int r) { return size > 2 && r == 1 ? 0 : r + 2; }

static void refused(int f) {
  double x[8] = {0};
  ERR(enotvar, forebay_write(f, "Temperature", x));
  ERR(einval, forebay_write(f, "T", x)); /* nx comes first */
  ERR(einval, forebay_write(f, "x0", NULL));
  ERR(ebadid, forebay_write(f + 1000, "x0", x));
  ERR(einval, forebay_group_size(f, -1));
  const int room = forebay_group_size(f, INT64_MAX); /* where a step is not written meanwhile */
  if (room != enomem) OK(room);
}

static void write_step(int f, int step) {
  int64_t nx = rows_of(rank), np = nx;
  int32_t x0 = 0;
  uint32_t total = 0;
  for (int r = 0; r < size; ++r) {
    if (r < rank) x0 += (int32_t)rows_of(r);
    total += (uint32_t)rows_of(r);
  }
  double* temperature = malloc((size_t)(nx * 8 + 1) * sizeof(double));
  float* ions = malloc((size_t)(np * 7 + 1) * sizeof(float));
  float* grid = malloc((size_t)(nx * 8 + 1) * sizeof(float));
  int16_t* own = malloc((size_t)(np + 1) * sizeof(int16_t));
  for (int64_t i = 0; i < nx * 8; ++i) temperature[i] = 1000 * step + (double)(x0 * 8 + i);
  for (int64_t i = 0; i < nx * 8; ++i) grid[i] = 1000 * (float)step + (float)(x0 * 8 + i);
  for (int64_t i = 0; i < np * 7; ++i) ions[i] = 1000 * (float)step + (float)(x0 * 7 + i);
  for (int64_t i = 0; i < np; ++i) own[i] = (int16_t)(100 * rank + step + i);
  if (rank == size - 1) {
    usleep(3000);
    refused(f);
  }
  OK(forebay_group_size(f, nx * 8 * 8)); /* or more, or fewer */
  OK(forebay_expect(f, "T", "double", 2));
  OK(forebay_write(f, "nx", &nx));
  OK(forebay_write(f, "x0", &x0));
  OK(forebay_write(f, "total", &total));
  OK(forebay_write(f, "np", &np));
  OK(forebay_write(f, "T", temperature));
  memset(temperature, 0, (size_t)(nx * 8) * sizeof(double)); /* it was copied */
  ERR(einval, forebay_write(f, "T", temperature));           /* a second time */
  OK(forebay_write(f, "grid", grid));
  OK(forebay_write_later(f, "ions", ions));
  if (np > 0) OK(forebay_write(f, "own", own));
  if (rank == 0) {
    char title[32];
    snprintf(title, sizeof title, "step %d", step);
    OK(forebay_write(f, "title", title));
  }
  OK(forebay_end_step(f));
  free(temperature);
  free(ions);
  free(grid);
  free(own);
}

/* Columns first, in boxes that the program gives. */
static void write_boxes(const char* path) {
  int f = 0;
  OK(forebay_define_group("boxes", "Fortran"));
  ERR(einval, forebay_define_group("boxes", "Fortran"));
  OK(forebay_define_var("boxes", "n", "int64", NULL, NULL, NULL, NULL));
  OK(forebay_define_var("boxes", "A", "integer", "n,2", "n,2", "0,0", NULL));
  ERR(einval, forebay_define_var("boxes", "A", "integer", "n", NULL, NULL, NULL));
  OK(forebay_define_attribute("boxes", "made", "by calls", NULL));
  OK(forebay_define_method("boxes", "subfiling=ranks;subfile_ranks=2"));
  ERR(einval, forebay_define_method("boxes", "subfiling=sometimes"));
  OK(forebay_define_group("others", NULL));
  const char* const wings = getenv("FOREBAY_TEST_WINGS");
  if (wings == NULL || strstr(wings, "burst") != NULL) {
    OK(forebay_define_method("others", "stage=burst;bp_version=3"));
    ERR(enotsupport, forebay_open(&f, "others", path, "w", MPI_COMM_WORLD));
  }
  OK(forebay_define_group("folders", NULL));
  OK(forebay_define_method("folders", "container=directory"));
  ERR(enotsupport, forebay_open(&f, "folders", path, "w", MPI_COMM_WORLD));
  OK(forebay_open(&f, "boxes", path, "w", MPI_COMM_WORLD));
  for (int32_t step = 0; step < 5; ++step) {
    int64_t shape[2] = {3, 2 * size}, count[2] = {3, 1};
    for (int c = 0; c < 2; ++c) {
      int64_t start[2] = {0, 2 * rank + c};
      int32_t column[3] = {100 * step + 10 * (2 * rank + c), 0, 0};
      column[1] = column[0] + 1;
      column[2] = column[0] + 2;
      OK(forebay_write_box(f, "A", shape, start, count, column));
      start[1] = 2 * size;
      ERR(eedge, forebay_write_box(f, "A", shape, start, count, column));
      ERR(einval, forebay_write_box(f, "A", NULL, NULL, count, column));
    }
    OK(forebay_end_step(f));
  }
  OK(forebay_sync(f));
  OK(forebay_close(f));
  ERR(ebadid, forebay_close(f));
}

/* The same for all ranks at a time: columns of T, all of the ions, and nothing. One rank is late,
 * and asks for what is not there. */
/* What XML asks for of T and of ions. */
static void moments(int f, int64_t step, int64_t total) {
  int64_t n = 0, counts[6 * 64];
  double mean = 0, deviation = 0, all = (double)(total * 8);
  OK(forebay_inq_moments(f, "T", step, &n, &mean, &deviation));
  require((int)n, (int)all, "values of T");
  require(fabs(mean - (1000.0 * (double)step + (all - 1) / 2)) < 1e-9, 1, "the mean of T");
  require(fabs(deviation - sqrt((all * all - 1) / 12)) < 1e-4, 1, "the deviation of T");
  OK(forebay_inq_moments(f, "ions", step, &n, NULL, NULL));
  require((int)n, -1, "no moments");
  /* Below 0, four bins of 500, above 2000: of one block behind the other. */
  int64_t shape[1] = {0}, bins[6] = {0}, bytes = 0;
  OK(forebay_inq_shape(f, "T.histogram", step, shape, &bytes));
  require(shape[0] % 6 == 0 && bytes <= (int64_t)sizeof counts, 1, "the shape of a histogram");
  OK(forebay_read(f, "T.histogram", step, NULL, NULL, counts));
  for (int64_t i = 0; i < shape[0]; ++i) bins[i % 6] += counts[i];
  for (int64_t i = 0; i < total * 8; ++i) {
    const int64_t value = 1000 * step + i;
    --bins[value > 2000 ? 5 : value == 2000 ? 4 : 1 + value / 500];
  }
  for (int i = 0; i < 6; ++i) require((int)bins[i], 0, "a histogram");
}

static void read_together(int f, int64_t steps, int64_t total) {
  double* columns = malloc((size_t)(steps * total * 8) * sizeof(double));
  float* ions = malloc((size_t)(total * 7) * sizeof(float));
  const int64_t from = 8 * rank / size, to = 8 * (rank + 1) / size;
  const int64_t start[2] = {0, from}, count[2] = {total, to - from}, outside[2] = {total + 1, 1};
  char title[32] = "";
  for (int round = 0; round < 3; ++round) {
    memset(columns, 0, (size_t)(steps * total * 8) * sizeof(double));
    memset(ions, 0, (size_t)(total * 7) * sizeof(float));
    for (int64_t step = 0; step < steps && round != 1; ++step)
      OK(forebay_read_later(f, "T", step, start, count, columns + step * total * (to - from)));
    if (rank == size - 1) {
      usleep(3000);
      ERR(eedge, forebay_read_later(f, "T", 0, start, outside, columns));
      ERR(enotvar, forebay_read_later(f, "Temperature", 0, NULL, NULL, columns));
      ERR(einval, forebay_read_later(f, "T", 0, NULL, NULL, NULL));
      OK(forebay_read_later(f, "title", 3, NULL, NULL, title));
    }
    if (round == 0 || rank > 0) OK(forebay_read_later(f, "ions", 4, NULL, NULL, ions));
    OK(forebay_perform_reads(f));
    for (int64_t i = 0; i < steps * total * (to - from) && round != 1; ++i) {
      const int64_t step = i / (total * (to - from)), n = i % (total * (to - from));
      const int64_t place = n / (to - from) * 8 + from + n % (to - from);
      require((int)columns[i], (int)(1000 * step + place), "columns of T");
    }
    for (int64_t i = 0; i < total * 7 && (round == 0 || rank > 0); ++i)
      require((int)ions[i], (int)(4000 + i), "ions, together");
  }
  if (rank == size - 1) require(strcmp(title, "step 3"), 0, title);
  OK(forebay_read_later(f, "ions", 4, NULL, NULL, ions)); /* forgotten */
  free(columns);
  free(ions);
}

/* Every rank reads boxes of T, all of the joined ions, and what others wrote. */
static void read_back(const char* path) {
  int f = 0, nvars = 0, ndims = -1, any = -1;
  int64_t steps = 0, blocks = 0, shape[2] = {0, 0}, bytes = 0, total = 0, np = 0;
  const char *name = NULL, *type = NULL;
  char title[32] = "";
  double low = -1, high = -1;
  for (int r = 0; r < size; ++r) total += rows_of(r);
  ERR(einval, forebay_open(&f, NULL, path, "w", MPI_COMM_WORLD));
  ERR(enoent, forebay_open(&f, NULL, "/no/such/file.bp", "r", MPI_COMM_WORLD));
  OK(forebay_open(&f, NULL, path, "r", MPI_COMM_WORLD));
  OK(forebay_inq_steps(f, &steps));
  require((int)steps, 7, "steps");
  OK(forebay_inq_nvars(f, &nvars));
  require(nvars, 11, "variables");
  OK(forebay_inq_varname(f, nvars - 1, &name));
  OK(forebay_inq_var(f, name, NULL, NULL));
  ERR(enotvar, forebay_inq_varname(f, nvars, &name));
  ERR(einval, forebay_inq_steps(f, NULL));
  OK(forebay_inq_var(f, "T", &type, &ndims));
  require(ndims, 2, "dimensions of T");
  require(strcmp(type, "double"), 0, "the type of T");
  OK(forebay_expect(f, "T", "double", 2));
  OK(forebay_expect(f, "total", "Unsigned Integer", 0));
  ERR(ebadtype, forebay_expect(f, "T", "float", 2));
  ERR(ebadtype, forebay_expect(f, "T", NULL, 2));
  ERR(ebaddim, forebay_expect(f, "T", "double", 1));
  ERR(eperm, forebay_group_size(f, 1));
  double* box = malloc((size_t)total * 8 * sizeof(double));
  float* ions = malloc((size_t)total * 7 * sizeof(float));
  for (int64_t step = 0; step < steps; ++step) {
    OK(forebay_inq_shape(f, "T", step, shape, &bytes));
    require((int)shape[0], (int)total, "rows of T");
    require((int)bytes, (int)(total * 64), "bytes of T");
    const int64_t start[2] = {rank % total, 3}, count[2] = {total - start[0], 2};
    OK(forebay_read(f, "T", step, start, count, box));
    for (int64_t i = 0; i < count[0] * 2; ++i)
      require((int)box[i], (int)(1000 * step + (start[0] + i / 2) * 8 + 3 + i % 2), "T");
    OK(forebay_read(f, "ions", step, NULL, NULL, ions));
    for (int64_t i = 0; i < total * 7; ++i) require((int)ions[i], (int)(1000 * step + i), "ions");
    OK(forebay_inq_shape(f, "title", step, NULL, &bytes));
    require((int)bytes, 7, "bytes of a string");
    OK(forebay_read(f, "title", step, NULL, NULL, title));
    require(title[5] - '0', (int)step, title);
    OK(forebay_inq_blocks(f, "np", step, &blocks));
    require((int)blocks, size, "blocks of np");
    OK(forebay_read_block(f, "np", step, size - 1, &np));
    require((int)np, (int)rows_of(size - 1), "the last rank's np");
    OK(forebay_inq_statistics(f, "T", step, &any, &low, &high));
    require(any && low == 1000.0 * (double)step, 1, "the least T");
    require(high == 1000.0 * (double)step + (double)(total * 8 - 1), 1, "the greatest T");
    moments(f, step, total);
  }
  read_together(f, steps, total);
  /* Steps' values begin a thousand apart. */
  int64_t at_steps[4] = {-1, -1, -1, -1}, found_blocks[4], found = -1;
  OK(forebay_find(f, "T >= 5000 and T < 5001", 4, at_steps, found_blocks, &found));
  require((int)found, 1, "blocks with that T");
  require((int)at_steps[0], 5, "the step with that T");
  require((int)at_steps[1], -1, "no more than was found");
  OK(forebay_find(f, "T >= 5000", 0, NULL, NULL, &found));
  require(found >= 2, 1, "blocks of two steps");
  ERR(einval, forebay_find(f, "T", 4, at_steps, found_blocks, &found));
  ERR(einval, forebay_find(f, NULL, 4, at_steps, found_blocks, &found));
  ERR(enotvar, forebay_find(f, "Temperature > 1", 4, at_steps, found_blocks, &found));
  ERR(echar, forebay_find(f, "title > 1", 4, at_steps, found_blocks, &found));
  const int64_t first[2] = {0, 0};
  OK(forebay_inq_block(f, "T", 3, 0, shape, NULL));
  require((int)(shape[0] + shape[1]), 0, "where the first block begins");
  OK(forebay_read(f, "grid", 0, NULL, NULL, box));
  ERR(einvalcoords, forebay_read(f, "grid", 1, NULL, NULL, box)); /* written once */
  ERR(einvalcoords, forebay_read(f, "T", 7, NULL, NULL, box));
  ERR(einvalcoords, forebay_read(f, "T", -1, NULL, NULL, box));
  ERR(einvalcoords, forebay_read_block(f, "np", 0, size, &np));
  ERR(enotvar, forebay_read(f, "Temperature", 0, NULL, NULL, box));
  ERR(einval, forebay_read(f, "T", 0, first, NULL, box));
  ERR(einval, forebay_read(f, "T", 0, NULL, NULL, NULL));
  ERR(eperm, forebay_write(f, "np", &np));
  ERR(eperm, forebay_end_step(f));
  OK(forebay_close(f));
  ERR(ebadid, forebay_read_later(f, "T", 0, NULL, NULL, box));
  ERR(ebadid, forebay_perform_reads(f));
  ERR(ebadid, forebay_read(f, "T", 0, NULL, NULL, box));
  free(box);
  free(ions);
}

/* What cannot be written leaves the file that is there as it is. */
static void refuse_to_replace(const char* path) {
  static char text[70001];
  int f = 0;
  memset(text, 'x', sizeof text - 1);
  OK(forebay_define_group("long", NULL));
  OK(forebay_define_attribute("long", "text", text, NULL));
  ERR(evarsize, forebay_open(&f, "long", path, "w", MPI_COMM_WORLD));
  if (size > 1)
    ERR(emultidefine, forebay_open(&f, rank == 0 ? "restart" : "empty", path, "w", MPI_COMM_WORLD));
}

/* Arrays without elements, and a scalar that is no size. */
static void write_empty(const char* path) {
  int f = 0;
  uint64_t n = UINT64_C(1) << 61, most = UINT64_MAX;
  const char letters[2] = {'a', (char)0x80};
  int any = 0;
  double low = 0, high = 0;
  OK(forebay_define_group("empty", NULL));
  OK(forebay_define_var("empty", "n", "uint64", NULL, NULL, NULL, NULL));
  OK(forebay_define_var("empty", "most", "uint64", NULL, NULL, NULL, NULL));
  OK(forebay_define_var("empty", "none", "double", "n,0", NULL, NULL, NULL));
  OK(forebay_define_var("empty", "many", "double", "most", NULL, NULL, NULL));
  OK(forebay_define_var("empty", "letters", "char", "2", NULL, NULL, NULL));
  OK(forebay_open(&f, "empty", path, "w", MPI_COMM_WORLD));
  OK(forebay_write(f, "n", &n));
  OK(forebay_write(f, "most", &most));
  OK(forebay_write(f, "none", NULL));
  OK(forebay_write(f, "letters", letters));
  ERR(erange, forebay_write(f, "many", &n));
  OK(forebay_end_step(f));
  OK(forebay_close(f));
  OK(forebay_open(&f, NULL, path, "r", MPI_COMM_WORLD));
  OK(forebay_inq_statistics(f, "letters", 0, &any, &low, &high));
  require(any && low == letters[1] && high == 'a', 1, "the least and greatest of C's characters");
  OK(forebay_close(f));
}

int main(int argc, char** argv) {
  int f = 0, all = 0;
  char path[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  ERR(einval, forebay_open(&f, "restart", "x.bp", "w", MPI_COMM_WORLD)); /* not begun */
  ERR(einval, forebay_init("/no/such/file.xml", MPI_COMM_WORLD));
  OK(forebay_init(argv[1], MPI_COMM_WORLD));
  snprintf(path, sizeof path, "%s/restart.bp", argv[2]);
  ERR(einval, forebay_open(&f, "restrat", path, "w", MPI_COMM_WORLD));
  ERR(einval, forebay_open(&f, "restart", path, rank == size - 1 ? "x" : "w", MPI_COMM_WORLD));
  OK(forebay_open(&f, "restart", path, "w", MPI_COMM_WORLD));
  for (int step = 0; step < 5; ++step) write_step(f, step);
  OK(forebay_close(f));
  OK(forebay_open(&f, "restart", path, "a", MPI_COMM_WORLD));
  ERR(eperm, forebay_read_later(f, "T", 0, NULL, NULL, NULL));
  ERR(eperm, forebay_perform_reads(f));
  for (int step = 5; step < 7; ++step) write_step(f, step);
  OK(forebay_close(f));
  refuse_to_replace(path);
  read_back(path);
  snprintf(path, sizeof path, "%s/boxes.bp", argv[2]);
  write_boxes(path);
  snprintf(path, sizeof path, "%s/empty.bp", argv[2]);
  write_empty(path);
  OK(forebay_finalize());
  MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
