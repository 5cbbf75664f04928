/* Plays a list of calls against files, and tells what a file holds, through PnetCDF's interface.
 *
 * Usage: netcdf4_client (play CALLS FILE | tell FILE TOLD)...
 *
 * `play` carries out calls, one a line. `tell` writes dimensions, attributes, variables and values.
 * Rank 0 says on its standard error with which file it begins, so that a report is of that file.
 *
 * Names have %XX for bytes that are no letters or digits. Values are hexadecimal, as they lie in
 * memory. Ranks share each put by its longest dimension. What `tell` writes is what rank 0 reads as
 * whole variables, or the error; each rank also reads its part by elements that lie apart, and
 * compares.
 *
 *   create FORMAT              nc4, nc4classic, cdf1, cdf2 or cdf5
 *   open | redef | enddef | sync | close
 *   open_or_end                tells that the file cannot be opened, and ends the list
 *   dim NAME LENGTH            0: unlimited
 *   var NAME TYPE N DIM...
 *   att VAR NAME TYPE COUNT VALUES      VAR *: of the file
 *   chunk VAR LENGTH...        filter VAR PIPELINE        nofill VAR
 *   rename_dim|rename_var OLD NEW       rename_att VAR OLD NEW       delete_att VAR NAME
 *   put VAR START... COUNT... VALUES    independent VAR START... COUNT... VALUES, by the last rank
 */
#include <ctype.h>
#include <forebay.h>
#include <pnetcdf.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_TEXT(code) forebay_error_message()
#include "foreign/try.h"

enum { most_dims = 32 };

static int rank, ranks, id = -1, ended;
static char* rest; /* of the line */

static const char* const type_names[] = {"nat",    "byte",  "char",   "short", "int",   "float",
                                         "double", "ubyte", "ushort", "uint",  "int64", "uint64"};
static const int widths[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};

static MPI_Datatype memory_type(nc_type type) {
  const MPI_Datatype types[] = {MPI_BYTE,     MPI_SIGNED_CHAR,   MPI_CHAR,
                                MPI_SHORT,    MPI_INT,           MPI_FLOAT,
                                MPI_DOUBLE,   MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,
                                MPI_UNSIGNED, MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG};
  return types[type];
}

static void fail(const char* what, const char* name) {
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, name);
  ++failures;
}

/* -- words of a line */

static char* word(void) {
  char* w = strtok_r(NULL, " \n", &rest);
  return w ? w : "";
}

static long long number(void) { return atoll(word()); }

static char* name(void) {
  char *w = word(), *to = w, *from = w;
  for (; *from; ++from) {
    unsigned code;
    if (*from == '%' && sscanf(from + 1, "%2x", &code) == 1) {
      *to++ = (char)code;
      from += 2;
    } else {
      *to++ = *from;
    }
  }
  *to = 0;
  return w;
}

static nc_type type(void) {
  const char* w = word();
  for (int t = 1; t < 12; ++t)
    if (strcmp(type_names[t], w) == 0) return t;
  fail("no type", w);
  return NC_INT;
}

/* The caller frees it. */
static unsigned char* values(size_t bytes) {
  const char* w = word();
  unsigned char* to = malloc(bytes + 1);
  if (strlen(w) != 2 * bytes && bytes > 0) fail("number of values", w);
  for (size_t i = 0; i < bytes && w[2 * i]; ++i) {
    unsigned byte = 0;
    if (sscanf(w + 2 * i, "%2x", &byte) != 1) fail("no value", w);
    to[i] = (unsigned char)byte;
  }
  return to;
}

static int var(void) {
  const char* n = name();
  int v = NC_GLOBAL;
  if (strcmp(n, "*") != 0) TRY(ncmpi_inq_varid(id, n, &v));
  return v;
}

/* -- calls */

static void create(const char* path) {
  const char* format = word();
  int mode = NC_CLOBBER;
  if (strcmp(format, "nc4") == 0) mode |= NC_NETCDF4;
  if (strcmp(format, "nc4classic") == 0) mode |= NC_NETCDF4 | NC_CLASSIC_MODEL;
  if (strcmp(format, "cdf5") == 0) mode |= NC_64BIT_DATA;
  if (strcmp(format, "cdf2") == 0) mode |= NC_64BIT_OFFSET;
  TRY(ncmpi_create(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &id));
}

static void define_var(void) {
  const char* n = name();
  const nc_type t = type();
  const int ndims = (int)number();
  int dims[most_dims], v;
  for (int d = 0; d < ndims; ++d) TRY(ncmpi_inq_dimid(id, name(), &dims[d]));
  TRY(ncmpi_def_var(id, n, t, ndims, dims, &v));
}

static void define_att(void) {
  const int v = var();
  const char* n = name();
  const nc_type t = type();
  const MPI_Offset count = number();
  unsigned char* value = values((size_t)(count * widths[t]));
  if (t == NC_CHAR)
    TRY(ncmpi_put_att_text(id, v, n, count, (char*)value));
  else
    TRY(ncmpi_put_att(id, v, n, t, count, value));
  free(value);
}

static void set_chunk(void) {
  const int v = var();
  int ndims = 0;
  MPI_Offset shape[most_dims];
  TRY(ncmpi_inq_varndims(id, v, &ndims));
  for (int d = 0; d < ndims; ++d) shape[d] = number();
  TRY(ncmpi_var_set_chunk(id, v, shape));
}

/* This rank's part of n. */
static void share(MPI_Offset n, MPI_Offset* start, MPI_Offset* count) {
  *start = n * rank / ranks;
  *count = n * (rank + 1) / ranks - *start;
}

static int longest(int ndims, const MPI_Offset* count) {
  int at = 0;
  for (int d = 1; d < ndims; ++d)
    if (count[d] > count[at]) at = d;
  return at;
}

/* Copies this rank's part of an array of `width` bytes an element. */
static unsigned char* part_of(const unsigned char* all, int ndims, const MPI_Offset* whole, int cut,
                              MPI_Offset start, MPI_Offset count, size_t width) {
  size_t outer = 1, inner = width;
  for (int d = 0; d < cut; ++d) outer *= (size_t)whole[d];
  for (int d = cut + 1; d < ndims; ++d) inner *= (size_t)whole[d];
  const size_t row = inner * (size_t)count;
  unsigned char* part = malloc(outer * row + 1);
  for (size_t i = 0; i < outer; ++i)
    memcpy(part + i * row, all + (i * (size_t)whole[cut] + (size_t)start) * inner, row);
  return part;
}

static void put(int together) {
  const int v = var();
  int ndims = 0;
  nc_type t = NC_NAT;
  MPI_Offset start[most_dims], count[most_dims], n = 1;
  TRY(ncmpi_inq_varndims(id, v, &ndims));
  TRY(ncmpi_inq_vartype(id, v, &t));
  for (int d = 0; d < ndims; ++d) start[d] = number();
  for (int d = 0; d < ndims; ++d) n *= count[d] = number();
  unsigned char* all = values((size_t)(n * widths[t]));
  if (!together) {
    TRY(ncmpi_begin_indep_data(id));
    if (rank == ranks - 1) TRY(ncmpi_put_vara(id, v, start, count, all, n, memory_type(t)));
    TRY(ncmpi_end_indep_data(id));
  } else if (ndims == 0) {
    TRY(ncmpi_put_var_all(id, v, all, 1, memory_type(t)));
  } else {
    const int cut = longest(ndims, count);
    MPI_Offset first, mine;
    share(count[cut], &first, &mine);
    unsigned char* part = part_of(all, ndims, count, cut, first, mine, (size_t)widths[t]);
    const MPI_Offset elements = count[cut] > 0 ? n / count[cut] * mine : 0;
    start[cut] += first;
    count[cut] = mine;
    TRY(ncmpi_put_vara_all(id, v, start, count, part, elements, memory_type(t)));
    free(part);
  }
  free(all);
}

static void rename_one(const char* what) {
  int at = NC_GLOBAL;
  if (strcmp(what, "rename_dim") == 0) {
    TRY(ncmpi_inq_dimid(id, name(), &at));
    TRY(ncmpi_rename_dim(id, at, name()));
  } else if (strcmp(what, "rename_var") == 0) {
    at = var();
    TRY(ncmpi_rename_var(id, at, name()));
  } else {
    at = var();
    const char *old = name(), *new_name = name();
    TRY(ncmpi_rename_att(id, at, old, new_name));
  }
}

static void carry_out(const char* call, const char* path) {
  int v, mode;
  if (strcmp(call, "create") == 0) {
    create(path);
  } else if (strcmp(call, "open") == 0) {
    TRY(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &id));
  } else if (strcmp(call, "open_or_end") == 0) {
    ended = ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, MPI_INFO_NULL, &id) != NC_NOERR;
    if (ended && rank == 0) fprintf(stderr, "refused: %s\n", forebay_error_message());
  } else if (strcmp(call, "redef") == 0) {
    TRY(ncmpi_redef(id));
  } else if (strcmp(call, "enddef") == 0) {
    TRY(ncmpi_enddef(id));
  } else if (strcmp(call, "sync") == 0) {
    TRY(ncmpi_sync(id));
  } else if (strcmp(call, "close") == 0) {
    TRY(ncmpi_close(id));
  } else if (strcmp(call, "dim") == 0) {
    const char* n = name();
    TRY(ncmpi_def_dim(id, n, number(), &v));
  } else if (strcmp(call, "var") == 0) {
    define_var();
  } else if (strcmp(call, "att") == 0) {
    define_att();
  } else if (strcmp(call, "chunk") == 0) {
    set_chunk();
  } else if (strcmp(call, "filter") == 0) {
    v = var();
    TRY(ncmpi_var_set_filter(id, v, word()));
  } else if (strcmp(call, "nofill") == 0) {
    TRY(ncmpi_def_var_fill(id, var(), 1, NULL));
  } else if (strcmp(call, "fill") == 0) {
    TRY(ncmpi_set_fill(id, NC_FILL, &mode));
  } else if (strncmp(call, "rename_", 7) == 0) {
    rename_one(call);
  } else if (strcmp(call, "delete_att") == 0) {
    v = var();
    TRY(ncmpi_del_att(id, v, name()));
  } else if (strcmp(call, "put") == 0 || strcmp(call, "independent") == 0) {
    put(strcmp(call, "put") == 0);
  } else {
    fail("no call", call);
  }
}

static void play(const char* calls, const char* path) {
  FILE* from = fopen(calls, "r");
  char* line = NULL;
  size_t room = 0;
  if (!from) return fail("cannot open", calls);
  ended = 0;
  while (!ended && getline(&line, &room, from) >= 0) {
    const int before = failures;
    const char* call = strtok_r(line, " \n", &rest);
    if (!call) continue;
    carry_out(call, path);
    if (failures > before) fail("the call was", call);
  }
  free(line);
  fclose(from);
}

/* -- telling */

static void tell_name(FILE* to, const char* n) {
  fputc(' ', to);
  for (; *n; ++n)
    if (isalnum((unsigned char)*n) || *n == '_')
      fputc(*n, to);
    else
      fprintf(to, "%%%02x", (unsigned char)*n);
}

static void tell_values(FILE* to, const unsigned char* value, size_t bytes) {
  fputc(' ', to);
  for (size_t i = 0; i < bytes; ++i) fprintf(to, "%02x", value[i]);
  fputc('\n', to);
}

static void tell_atts(FILE* to, int v, const char* owner) {
  int n = 0;
  if (v == NC_GLOBAL)
    TRY(ncmpi_inq_natts(id, &n));
  else
    TRY(ncmpi_inq_varnatts(id, v, &n));
  for (int i = 0; i < n; ++i) {
    char its[NC_MAX_NAME + 1];
    nc_type t = NC_NAT;
    MPI_Offset count = 0;
    TRY(ncmpi_inq_attname(id, v, i, its));
    TRY(ncmpi_inq_att(id, v, its, &t, &count));
    const size_t bytes = (size_t)(count * widths[t]);
    unsigned char* value = malloc(bytes + 1);
    TRY(ncmpi_get_att(id, v, its, value));
    if (to) {
      fputs("att", to);
      tell_name(to, owner);
      tell_name(to, its);
      fprintf(to, " %s %lld", type_names[t], (long long)count);
      tell_values(to, value, bytes);
    }
    free(value);
  }
}

/* Reads this rank's part of a variable with a stride, and compares it with the whole. */
static void check_part(int v, const char* its, nc_type t, int ndims, const MPI_Offset* shape,
                       const unsigned char* all) {
  MPI_Offset start[most_dims], count[most_dims], stride[most_dims], n = 1;
  const size_t width = (size_t)widths[t];
  for (int d = 0; d < ndims; ++d) {
    stride[d] = 1 + (d + rank) % 3;
    start[d] = shape[d] > 1 ? rank % 2 : 0;
    count[d] = (shape[d] - start[d] + stride[d] - 1) / stride[d];
    n *= count[d];
  }
  unsigned char* part = malloc((size_t)n * width + 1);
  TRY(ncmpi_get_vars_all(id, v, start, count, stride, part, n, memory_type(t)));
  for (MPI_Offset i = 0; i < n; ++i) {
    MPI_Offset left = i, at = 0, step = 1;
    for (int d = ndims; d-- > 0;) {
      at += (start[d] + left % count[d] * stride[d]) * step;
      left /= count[d];
      step *= shape[d];
    }
    if (memcmp(part + (size_t)i * width, all + (size_t)at * width, width) != 0) {
      fail("elements that lie apart are others", its);
      break;
    }
  }
  free(part);
}

static void tell_var(FILE* to, int v) {
  char its[NC_MAX_NAME + 1], dim[NC_MAX_NAME + 1];
  nc_type t = NC_NAT;
  int ndims = 0, dims[most_dims];
  MPI_Offset shape[most_dims], n = 1;
  TRY(ncmpi_inq_var(id, v, its, &t, &ndims, dims, NULL));
  if (to) {
    fputs("var", to);
    tell_name(to, its);
    fprintf(to, " %s %d", type_names[t], ndims);
  }
  for (int d = 0; d < ndims; ++d) {
    TRY(ncmpi_inq_dim(id, dims[d], dim, &shape[d]));
    if (to) tell_name(to, dim);
    n *= shape[d];
  }
  if (to) fputc('\n', to);
  tell_atts(to, v, its);
  const size_t bytes = (size_t)(n * widths[t]);
  unsigned char* all = malloc(bytes + 1);
  const int code = ncmpi_get_var_all(id, v, all, n, memory_type(t));
  if (code == NC_NOERR) check_part(v, its, t, ndims, shape, all);
  if (to && code != NC_NOERR) {
    fputs("error", to);
    tell_name(to, its);
    fprintf(to, " %s\n", forebay_error_message());
  } else if (to) {
    fputs("data", to);
    tell_name(to, its);
    tell_values(to, all, bytes);
  }
  free(all);
}

static void tell(const char* path, const char* told) {
  int ndims = 0, nvars = 0, natts = 0, unlimited = -1, format = 0;
  FILE* to = NULL;
  const int code = ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &id);
  if (code != NC_NOERR) return fail("it cannot be opened", forebay_error_message());
  if (rank == 0 && !(to = fopen(told, "w"))) return fail("cannot write", told);
  TRY(ncmpi_inq(id, &ndims, &nvars, &natts, &unlimited));
  TRY(ncmpi_inq_format(id, &format));
  if (to) fprintf(to, "format %d\n", format);
  for (int d = 0; d < ndims; ++d) {
    char its[NC_MAX_NAME + 1];
    MPI_Offset length = 0;
    TRY(ncmpi_inq_dim(id, d, its, &length));
    if (!to) continue;
    fputs("dim", to);
    tell_name(to, its);
    fprintf(to, " %lld %s\n", (long long)length, d == unlimited ? "unlimited" : "fixed");
  }
  tell_atts(to, NC_GLOBAL, "*");
  for (int v = 0; v < nvars; ++v) tell_var(to, v);
  TRY(ncmpi_close(id));
  if (to) fclose(to);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i + 2 < argc; i += 3) {
    const int plays = strcmp(argv[i], "play") == 0;
    if (rank == 0) fprintf(stderr, "== %s\n", argv[plays ? i + 2 : i + 1]);
    MPI_Barrier(MPI_COMM_WORLD);
    const int before = failures;
    (plays ? play : tell)(argv[i + 1], argv[i + 2]);
    if (failures > before) fprintf(stderr, "** rank %d failed\n", rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures != 0;
}
