/* Usage: programs LOG FOLDER [NAME...]: runs those programs, each in a folder of its own; all of
 * them without names. */
#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int rank, size;
static FILE* log_file;

void say(const char* format, ...) {
  va_list list;
  if (rank != 0) return;
  va_start(list, format);
  vfprintf(log_file, format, list);
  va_end(list);
  fputc('\n', log_file);
  fflush(log_file);
}

int told(const char* what, int code) {
  int least, most, length = (int)strcspn(what, "(");
  MPI_Allreduce(&code, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&code, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (least == most)
    say("%.*s: %s", length, what, ncmpi_strerrno(code));
  else
    say("%.*s: from %s to %s", length, what, ncmpi_strerrno(least), ncmpi_strerrno(most));
  return least;
}

int begin(struct file* file, const char* path, int mode) {
  file->id = -1;
  return TRY(ncmpi_create(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file->id));
}

int define(struct file* file) {
  int dims[2], code = 0;
  code |= ncmpi_def_dim(file->id, "time", NC_UNLIMITED, &dims[0]);
  code |= ncmpi_def_dim(file->id, "x", 4 * (MPI_Offset)size, &dims[1]);
  code |= ncmpi_def_var(file->id, "fixed", NC_INT, 1, &dims[1], &file->fixed);
  code |= ncmpi_def_var(file->id, "record", NC_DOUBLE, 2, dims, &file->record);
  code |= ncmpi_put_att_text(file->id, file->record, "units", 1, "K");
  told("definitions", code);
  return TRY(ncmpi_enddef(file->id));
}

int make(struct file* file, const char* path, int mode) {
  const int code = begin(file, path, mode);
  return code == NC_NOERR ? define(file) : code;
}

void put_fixed(const struct file* file, int add) {
  int values[4], i;
  const MPI_Offset start = 4 * rank, count = 4;
  for (i = 0; i < 4; ++i) values[i] = (int)start + i + add;
  TRY(ncmpi_put_vara_int_all(file->id, file->fixed, &start, &count, values));
}

void put_record(const struct file* file, int at, int add) {
  double values[4];
  const MPI_Offset start[] = {at, 4 * rank}, count[] = {1, 4};
  int i;
  for (i = 0; i < 4; ++i) values[i] = 100. * at + (double)start[1] + i + add;
  TRY(ncmpi_put_vara_double_all(file->id, file->record, start, count, values));
}

void put(const struct file* file, int add) {
  int at;
  put_fixed(file, add);
  for (at = 0; at < records; ++at) put_record(file, at, add);
}

int reopen(struct file* file, const char* path, int mode) {
  file->id = -1;
  const int code = TRY(ncmpi_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file->id));
  if (code == NC_NOERR) {
    told("inq_varid", ncmpi_inq_varid(file->id, "fixed", &file->fixed) |
                          ncmpi_inq_varid(file->id, "record", &file->record));
  }
  return code;
}

void get(const struct file* file) {
  int fixed[4], i, at, wrong = 0, all;
  double record[4];
  MPI_Offset start[] = {0, 4 * rank}, count[] = {1, 4};
  memset(fixed, 0, sizeof fixed);
  TRY(ncmpi_get_vara_int_all(file->id, file->fixed, start + 1, count + 1, fixed));
  for (i = 0; i < 4; ++i) wrong += fixed[i] != (int)start[1] + i;
  for (at = 0; at < records; ++at) {
    start[0] = at;
    memset(record, 0, sizeof record);
    TRY(ncmpi_get_vara_double_all(file->id, file->record, start, count, record));
    for (i = 0; i < 4; ++i) wrong += record[i] != 100. * at + (double)start[1] + i;
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say("get: %d wrong values", all);
}

void done(struct file* file) {
  TRY(ncmpi_close(file->id));
  file->id = -1;
}

void whole(const char* path, int mode) {
  struct file file;
  if (make(&file, path, mode) != NC_NOERR) return;
  put(&file, 0);
  done(&file);
}

static const char* called_it;
void call_it(const char* path) { called_it = path; }
static const char* name_of(const char* path) {
  return called_it != NULL && strcmp(path, called_it) == 0 ? "it" : path;
}

void kind(const char* path) {
  if (rank == 0) {
    const char* const name = name_of(path);
    struct stat status;
    if (lstat(path, &status) != 0) {
      say("%s: absent", name);
    } else {
      char inside[4200];
      snprintf(inside, sizeof inside, "%s/header.nc", path);
      /* A folder that is taken as one file is one. */
      const int mode = (int)(status.st_mode & 0666);
      const char* what = S_ISLNK(status.st_mode)   ? "link"
                         : S_ISREG(status.st_mode) ? "file"
                         : S_ISDIR(status.st_mode) ? (access(inside, F_OK) == 0 ? "file" : "folder")
                                                   : "other";
      if (strcmp(what, "file") == 0)
        say("%s: file %o, %d names", name, mode,
            S_ISDIR(status.st_mode) ? 1 : (int)status.st_nlink);
      else
        say("%s: %s", name, what);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void show_variable(int id, int v) {
  char name[NC_MAX_NAME + 1];
  nc_type type;
  int ndims, dims[8], attributes, d, code;
  MPI_Offset start[8] = {0}, count[8], length = 1, i, values = 64;
  double some[64], text_only = 0;
  char line[4096] = "";
  if (ncmpi_inq_var(id, v, name, &type, &ndims, dims, &attributes) != NC_NOERR || ndims > 8) return;
  for (d = 0; d < ndims; ++d) {
    ncmpi_inq_dimlen(id, dims[d], &count[d]);
    if (length * count[d] > values) count[d] = length > 0 ? values / length : 0;
    length *= count[d];
  }
  memset(some, 0, sizeof some);
  if (type == NC_CHAR) {
    char text[65] = "";
    code = ncmpi_get_vara_text_all(id, v, start, count, text);
    snprintf(line, sizeof line, " \"%s\"", text);
    text_only = 1;
  } else {
    code = ncmpi_get_vara_double_all(id, v, start, count, some);
  }
  for (i = 0; i < length && !text_only; ++i)
    snprintf(line + strlen(line), sizeof line - strlen(line), " %.9g", some[i]);
  say("  %s type %d dims %d attributes %d: %s%s", name, (int)type, ndims, attributes,
      ncmpi_strerrno(code), line);
}

void show(const char* path) {
  if (rank == 0) {
    int id, d, ndims, nvars, natts, unlimited;
    const int code = ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &id);
    say("show %s: %s", name_of(path), ncmpi_strerrno(code));
    if (code == NC_NOERR) {
      ncmpi_inq(id, &ndims, &nvars, &natts, &unlimited);
      for (d = 0; d < ndims; ++d) {
        char name[NC_MAX_NAME + 1];
        MPI_Offset length;
        ncmpi_inq_dim(id, d, name, &length);
        say("  %s = %lld%s", name, (long long)length, d == unlimited ? " so far" : "");
      }
      for (d = 0; d < nvars; ++d) show_variable(id, d);
      ncmpi_close(id);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void system_call(const char* what, int code) {
  if (code != 0) say("%s: %s", what, strerror(errno));
}

void scribble(const char* path, int bytes) {
  FILE* file = fopen(path, "w");
  int i;
  for (i = 0; file && i < bytes; ++i) fputc("text that is none\n"[i % 18], file);
  if (file) fclose(file);
}

static void run(const struct program* program, const char* folder) {
  char here[4096];
  const mode_t mask = umask(022);
  say("== %s", program->name);
  if (getcwd(here, sizeof here) == NULL || chdir(folder) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  ALONE(mkdir(program->name, 0777));
  if (chdir(program->name) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  program->run();
  MPI_Barrier(MPI_COMM_WORLD);
  umask(mask);
  if (chdir(here) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char** argv) {
  const struct program* const tables[] = {link_programs, change_programs, process_programs,
                                          call_programs};
  const struct program* program;
  int t, i, provided;
  if (argc == 2) { /* --list */
    for (t = 0; t < 4; ++t)
      for (program = tables[t]; program->name != NULL; ++program) puts(program->name);
    return 0;
  }
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  if (rank == 0) {
    /* Beyond the descriptors that programs close. */
    const int low = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0666),
              high = fcntl(low, F_DUPFD_CLOEXEC, 200);
    close(low);
    log_file = fdopen(high, "a");
  }
  for (t = 0; t < 4; ++t) {
    for (program = tables[t]; program->name != NULL; ++program) {
      int wanted = argc == 3;
      for (i = 3; i < argc; ++i) wanted |= strcmp(argv[i], program->name) == 0;
      if (wanted) run(program, argv[2]);
    }
  }
  say("== end");
  MPI_Finalize();
  return 0;
}
