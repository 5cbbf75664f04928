/* One program for two libraries: writes files that must come out the same.
 *
 * Usage: workload DIRECTORY FIRST COUNT
 *
 * Writes scenarios FIRST .. FIRST+COUNT-1 as DIRECTORY/s<number>.nc. A scenario is a pure function
 * of its number and of nothing else: format, schema, hints, enddef arguments, and what happens to
 * the file afterwards (redefinition, reopening, renaming, growth). Every element of every variable
 * is written, with a value that compare.py knows:
 *
 *     value(variable id, element) = (31 * id + 7 * element) modulo 100
 *
 * where elements are numbered through all records. Text gets the character 'a' + value modulo 26.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARS 32

static int rank, size;
static uint64_t state;
static int failures;

#define TRY(call)                                                                   \
  do {                                                                              \
    int code_ = (call);                                                             \
    if (code_ != NC_NOERR) {                                                        \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, ncmpi_strerrno(code_)); \
      ++failures;                                                                   \
    }                                                                               \
  } while (0)

static uint64_t draw(uint64_t n) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (z ^ (z >> 31)) % n;
}

typedef struct {
  int id, format, nvars;
  int time, fixed[3];
  MPI_Offset lengths[3];
  nc_type type[MAX_VARS];
  int is_record[MAX_VARS];
  int ndims[MAX_VARS]; /* fixed ones */
  MPI_Offset records;
  int aligned; /* an enddef has been, since create or open */
} File;

static nc_type draw_type(const File* f) {
  static const nc_type types[] = {NC_BYTE,  NC_CHAR,   NC_SHORT, NC_INT,   NC_FLOAT, NC_DOUBLE,
                                  NC_UBYTE, NC_USHORT, NC_UINT,  NC_INT64, NC_UINT64};
  return types[draw(f->format == 5 ? 11 : 6)];
}

static void put_some_att(int ncid, int varid, int number) {
  char name[32];
  double real[40];
  short small[40];
  char text[400];
  MPI_Offset n = (MPI_Offset)draw(12), i;
  snprintf(name, sizeof name, "att%d", number);
  for (i = 0; i < 40; ++i) {
    real[i] = (double)(i * 5) / 4;
    small[i] = (short)(i * 11);
  }
  memset(text, 'q', sizeof text);
  switch (draw(3)) {
    case 0:
      TRY(ncmpi_put_att_double(ncid, varid, name, NC_DOUBLE, n, real));
      break;
    case 1:
      TRY(ncmpi_put_att_short(ncid, varid, name, NC_SHORT, n, small));
      break;
    default:
      TRY(ncmpi_put_att_text(ncid, varid, name, n * (draw(4) == 0 ? 30 : 1), text));
  }
}

static void define_var(File* f, int record) {
  char name[32];
  int dims[4], n = 0, i, id;
  const int v = f->nvars;
  f->type[v] = draw_type(f);
  f->is_record[v] = record;
  f->ndims[v] = (int)draw(3);
  if (record) dims[n++] = f->time;
  for (i = 0; i < f->ndims[v]; ++i) dims[n++] = f->fixed[i];
  snprintf(name, sizeof name, "v%d_%.*s", v, (int)draw(7), "abcdefgh");
  TRY(ncmpi_def_var(f->id, name, f->type[v], n, dims, &id));
  if (draw(2) == 0) put_some_att(f->id, id, 0);
  if (draw(5) == 0) {
    const uint64_t zero = 0;
    TRY(ncmpi_def_var_fill(f->id, id, 0, draw(2) == 0 ? &zero : NULL));
  }
  ++f->nvars;
}

/* A later call of PnetCDF 1.12.3 has no larger alignment than the first one since create or open;
 * ours and PnetCDF 1.15 take it (tests/mpi/settings_test.cc). Smaller ones change nothing in
 * either. */
static void end_define(File* f) {
  static const MPI_Offset sizes[] = {0, 0, 4, 8, 10, 64, 100, 512, 1000, 4096};
  if (draw(2) == 0) {
    TRY(ncmpi_enddef(f->id));
  } else {
    const MPI_Offset h = sizes[draw(10)], va = sizes[draw(10)], v = sizes[draw(10)],
                     r = sizes[draw(10)];
    const MPI_Offset most = f->aligned ? 4 : 4096;
    TRY(ncmpi__enddef(f->id, h, va < most ? va : most, v, r < most ? r : most));
  }
  f->aligned = 1;
}

static MPI_Info draw_info(void) {
  static const char* const keys[] = {"nc_header_align_size", "nc_var_align_size",
                                     "nc_record_align_size"};
  static const char* const values[] = {"1", "4", "7", "12", "64", "100", "512", "1024", "0", "-5"};
  MPI_Info info;
  int i;
  if (draw(2) == 0) return MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (i = 0; i < 3; ++i) {
    if (draw(2) == 0) MPI_Info_set(info, keys[i], values[draw(10)]);
  }
  return info;
}

/* Elements [first, first+n) of a variable, as text or as doubles that convert to its type. */
static void write_part(const File* f, int v, MPI_Offset* start, MPI_Offset* count, MPI_Offset first,
                       MPI_Offset n) {
  MPI_Offset i;
  if (f->type[v] == NC_CHAR) {
    char* text = malloc((size_t)n + 1);
    for (i = 0; i < n; ++i) text[i] = (char)('a' + (31 * v + 7 * (first + i)) % 100 % 26);
    TRY(ncmpi_put_vara_text_all(f->id, v, start, count, text));
    free(text);
  } else {
    double* real = malloc((size_t)(n + 1) * sizeof *real);
    for (i = 0; i < n; ++i) real[i] = (double)((31 * v + 7 * (first + i)) % 100);
    TRY(ncmpi_put_vara_double_all(f->id, v, start, count, real));
    free(real);
  }
}

/* Every rank writes its share of the records, or of the first fixed dimension. */
static void write_var(const File* f, int v) {
  MPI_Offset start[4] = {0, 0, 0, 0}, count[4] = {1, 1, 1, 1}, slot = 1, whole, low, high;
  int n = 0, i;
  if (f->is_record[v]) {
    count[n++] = f->records;
  }
  for (i = 0; i < f->ndims[v]; ++i) {
    count[n++] = f->lengths[i];
    if (i > 0 || f->is_record[v]) slot *= f->lengths[i];
  }
  if (n == 0) { /* a scalar: the same value from every rank */
    write_part(f, v, start, count, 0, 1);
    return;
  }
  whole = count[0];
  low = whole * rank / size;
  high = whole * (rank + 1) / size;
  start[0] = low;
  count[0] = high - low;
  write_part(f, v, start, count, low * slot, (high - low) * slot);
}

static void write_all(const File* f) {
  int v;
  for (v = 0; v < f->nvars; ++v) write_var(f, v);
}

static void reopen(const char* path, File* f, int with_hints) {
  MPI_Info info = with_hints ? draw_info() : MPI_INFO_NULL;
  TRY(ncmpi_close(f->id));
  TRY(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, info, &f->id));
  f->aligned = 0;
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

static void redefine(File* f) {
  const int n = (int)draw(3);
  int i;
  char name[64];
  TRY(ncmpi_redef(f->id));
  for (i = 0; i < n && f->nvars < MAX_VARS; ++i) define_var(f, f->time >= 0 && draw(2) == 0);
  if (draw(2) == 0) put_some_att(f->id, NC_GLOBAL, (int)draw(5));
  if (draw(3) == 0 && f->nvars > 0) {
    snprintf(name, sizeof name, "renamed_to_something_rather_long_%d", (int)draw(1000));
    TRY(ncmpi_rename_var(f->id, 0, name));
  }
  if (draw(4) == 0) {
    int natts = 0;
    TRY(ncmpi_inq_natts(f->id, &natts));
    if (natts > 0) {
      TRY(ncmpi_inq_attname(f->id, NC_GLOBAL, 0, name));
      TRY(ncmpi_del_att(f->id, NC_GLOBAL, name));
    }
  }
  end_define(f);
}

static void scenario(const char* directory, int number) {
  static const int modes[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  char path[4096];
  File f;
  int i, fixed, records;
  MPI_Info info;
  memset(&f, 0, sizeof f);
  state = (uint64_t)number * 7919 + 17;
  snprintf(path, sizeof path, "%s/s%d.nc", directory, number);
  f.format = number % 3 == 2 ? 5 : number % 3 + 1;
  info = draw_info();
  TRY(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | modes[number % 3], info, &f.id));
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (draw(3) == 0) TRY(ncmpi_set_fill(f.id, NC_FILL, NULL));
  f.time = -1;
  if (draw(4) != 0) TRY(ncmpi_def_dim(f.id, "time", NC_UNLIMITED, &f.time));
  for (i = 0; i < 3; ++i) {
    char name[16];
    snprintf(name, sizeof name, "dim%.*s", i * 2, "_______");
    f.lengths[i] = 1 + (MPI_Offset)draw(9);
    TRY(ncmpi_def_dim(f.id, name, f.lengths[i], &f.fixed[i]));
  }
  while (draw(3) != 0) put_some_att(f.id, NC_GLOBAL, (int)draw(6));
  fixed = (int)draw(4);
  records = f.time >= 0 ? (int)draw(4) : 0;
  for (i = 0; i < fixed + records; ++i) {
    define_var(&f, f.time >= 0 && draw((uint64_t)(fixed + records)) < (uint64_t)records);
  }
  end_define(&f);
  f.records = (MPI_Offset)draw(6);
  if (draw(4) != 0) write_all(&f);
  for (i = (int)draw(4); i > 0; --i) {
    switch (draw(5)) {
      case 0:
        reopen(path, &f, 0);
        break;
      case 1:
        reopen(path, &f, 1);
        break;
      case 2:
        f.records += (MPI_Offset)draw(3);
        write_all(&f);
        break;
      default:
        redefine(&f);
    }
  }
  write_all(&f);
  TRY(ncmpi_close(f.id));
}

int main(int argc, char** argv) {
  int i, first, count, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) {
    if (rank == 0) fprintf(stderr, "usage: workload DIRECTORY FIRST COUNT\n");
    MPI_Finalize();
    return 2;
  }
  first = atoi(argv[2]);
  count = atoi(argv[3]);
  for (i = first; i < first + count; ++i) {
    const int before = failures;
    scenario(argv[1], i);
    if (failures != before) fprintf(stderr, "scenario %d failed on rank %d\n", i, rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}
