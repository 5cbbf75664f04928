/* Reads a file with netCDF-C and compares everything with what the model says was written.
 *
 * Usage: check_netcdf FILE FILE.expect
 *
 * The grammar of the .expect file stands at Model::write_expectation in tests/model/array_model.cc.
 * Returns 0 when every dimension, variable, attribute and known element agrees.
 */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_TEXT nc_strerror
#include "try.h"

#define REQUIRE(condition, what, name)                                    \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "%s of %s differs (%s)\n", what, name, #condition); \
      ++failures;                                                         \
    }                                                                     \
  } while (0)

static nc_type type_of(const char* name) {
  static const char* const names[] = {"nat",    "byte",  "char",   "short", "int",   "float",
                                      "double", "ubyte", "ushort", "uint",  "int64", "uint64"};
  int i;
  for (i = 0; i < 12; ++i) {
    if (strcmp(names[i], name) == 0) return i;
  }
  return NC_NAT;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/* Compares bytes with hex text; "--" stands for any byte. Returns the first difference or -1. */
static long difference(const unsigned char* bytes, const char* hex, size_t n) {
  size_t i;
  for (i = 0; i < n; ++i) {
    if (hex[2 * i] == '-') continue;
    if (bytes[i] != digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1])) return (long)i;
  }
  return -1;
}

static void check_dim(int ncid, int id, char** word) {
  char name[NC_MAX_NAME + 1];
  size_t length = 0;
  int unlimited = -1;
  TRY(nc_inq_dim(ncid, id, name, &length));
  TRY(nc_inq_unlimdim(ncid, &unlimited));
  REQUIRE(strcmp(name, word[1]) == 0, "name", word[1]);
  REQUIRE(length == (size_t)atoll(word[2]), "length", word[1]);
  REQUIRE((unlimited == id) == (strcmp(word[3], "unlimited") == 0), "unlimitedness", word[1]);
}

static void check_att(int ncid, char** word) {
  int id = NC_GLOBAL;
  nc_type type = NC_NAT;
  size_t n = 0;
  const size_t hex = strcmp(word[5], "-") == 0 ? 0 : strlen(word[5]) / 2;
  unsigned char* bytes = malloc(hex + 8);
  if (strcmp(word[1], "*") != 0) TRY(nc_inq_varid(ncid, word[1], &id));
  TRY(nc_inq_att(ncid, id, word[2], &type, &n));
  REQUIRE(type == type_of(word[3]), "type", word[2]);
  REQUIRE(n == (size_t)atoll(word[4]), "length", word[2]);
  TRY(nc_get_att(ncid, id, word[2], bytes));
  REQUIRE(difference(bytes, word[5], hex) < 0, "value", word[2]);
  free(bytes);
}

static void check_var(int ncid, int id, char** word) {
  char name[NC_MAX_NAME + 1];
  nc_type type = NC_NAT;
  int ndims = -1, dims[NC_MAX_VAR_DIMS], i;
  TRY(nc_inq_var(ncid, id, name, &type, &ndims, dims, NULL));
  REQUIRE(strcmp(name, word[1]) == 0, "name", word[1]);
  REQUIRE(type == type_of(word[2]), "type", word[1]);
  REQUIRE(ndims == atoi(word[3]), "rank", word[1]);
  for (i = 0; i < ndims && i < atoi(word[3]); ++i) {
    REQUIRE(dims[i] == atoi(word[4 + i]), "dimension", word[1]);
  }
}

static void check_data(int ncid, char** word) {
  int id = -1;
  const size_t bytes = strcmp(word[2], ".") == 0 ? 0 : strlen(word[2]) / 2;
  unsigned char* values = calloc(bytes + 8, 1);
  long at;
  TRY(nc_inq_varid(ncid, word[1], &id));
  TRY(nc_get_var(ncid, id, values));
  at = difference(values, word[2], bytes);
  if (at >= 0) {
    fprintf(stderr, "variable %s differs at byte %ld: got %02x, expected %.2s\n", word[1], at,
            values[at], word[2] + 2 * at);
    ++failures;
  }
  free(values);
}

int main(int argc, char** argv) {
  FILE* in;
  char* line = NULL;
  size_t room = 0;
  int ncid = -1, dims = 0, vars = 0, data = 0;
  if (argc != 3 || (in = fopen(argv[2], "r")) == NULL) {
    fprintf(stderr, "usage: check_netcdf FILE FILE.expect\n");
    return 2;
  }
  if (nc_open(argv[1], NC_NOWRITE, &ncid) != NC_NOERR) {
    fprintf(stderr, "netCDF-C cannot open %s\n", argv[1]);
    return 1;
  }
  while (getline(&line, &room, in) > 0) {
    char* word[64] = {NULL};
    int n = 0;
    char* w;
    for (w = strtok(line, " \n"); w != NULL && n < 63; w = strtok(NULL, " \n")) word[n++] = w;
    if (n == 0) continue;
    if (strcmp(word[0], "dim") == 0) check_dim(ncid, dims++, word);
    if (strcmp(word[0], "att") == 0) check_att(ncid, word);
    if (strcmp(word[0], "var") == 0) check_var(ncid, vars++, word);
    if (strcmp(word[0], "data") == 0) {
      check_data(ncid, word);
      ++data;
    }
  }
  {
    int ndims = -1, nvars = -1;
    TRY(nc_inq(ncid, &ndims, &nvars, NULL, NULL));
    REQUIRE(ndims == dims, "number of dimensions", argv[1]);
    REQUIRE(nvars == vars, "number of variables", argv[1]);
    REQUIRE(data == vars, "number of data lines", argv[2]);
  }
  TRY(nc_close(ncid));
  if (failures != 0) fprintf(stderr, "%s: %d differences\n", argv[1], failures);
  free(line);
  fclose(in);
  return failures != 0;
}
