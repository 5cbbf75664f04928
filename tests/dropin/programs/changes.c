/* What happens to a file, or to where the program is, while it is open. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs.h"

static void enter(const char* folder) {
  ALONE(mkdir(folder, 0777));
  RUN(chdir(folder));
}
static void leave(void) { RUN(chdir("..")); }

static void chdir_defining(void) {
  struct file file;
  if (begin(&file, "out.nc", NC_CLOBBER)) return;
  enter("there");
  define(&file), put(&file, 0), done(&file);
  kind("out.nc");
  leave();
  kind("out.nc"), show("out.nc");
}
static void chdir_writing(void) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put_fixed(&file, 0);
  enter("there");
  put(&file, 0), done(&file);
  kind("out.nc");
  leave();
  kind("out.nc"), show("out.nc");
}
static void chdir_two(void) {
  struct file one, two;
  enter("one");
  make(&one, "out.nc", NC_CLOBBER);
  leave(), enter("two");
  make(&two, "out.nc", NC_CLOBBER);
  put(&one, 0), put(&two, 50);
  done(&one), done(&two);
  leave();
  show("one/out.nc"), show("two/out.nc");
}
static void chdir_reading(void) {
  struct file file;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", NC_NOWRITE)) return;
  enter("there");
  get(&file), done(&file);
  leave();
}
static void chdir_adding(void) {
  struct file file;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "./out.nc", NC_WRITE)) return;
  enter("there");
  put_record(&file, records, 0);
  TRY(ncmpi_sync(file.id));
  put_record(&file, records + 1, 0);
  done(&file);
  leave();
  show("out.nc");
}
static void chdir_redefining(void) { /* so that the header outgrows its room */
  struct file file;
  char title[4000];
  int more;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", NC_WRITE)) return;
  enter("there");
  TRY(ncmpi_redef(file.id));
  TRY(ncmpi_def_var(file.id, "more", NC_INT, 0, NULL, &more));
  memset(title, 't', sizeof title);
  TRY(ncmpi_put_att_text(file.id, NC_GLOBAL, "title", sizeof title, title));
  TRY(ncmpi_enddef(file.id));
  put(&file, 3), done(&file);
  leave();
  show("out.nc");
}
static void chdir_abort(void) {
  struct file file;
  enter("there"), scribble("out.nc", 7), leave();
  if (begin(&file, "out.nc", NC_CLOBBER)) return;
  RUN(chdir("there"));
  TRY(ncmpi_abort(file.id));
  kind("out.nc");
  leave();
  kind("out.nc");
}
static void folder_gone(void) { /* the current directory is removed */
  struct file file;
  enter("there");
  if (make(&file, "../out.nc", NC_CLOBBER)) return;
  leave();
  ALONE(RUN(rmdir("there")));
  put(&file, 0), done(&file);
  show("out.nc");
}
static void in_gone_folder(void) {
  enter("there");
  ALONE(RUN(rmdir("../there")));
  whole("out.nc", NC_CLOBBER);
  leave();
}

static void renamed(int step) {
  struct file file;
  if (begin(&file, "out.nc", NC_CLOBBER)) return;
  if (step == 0) ALONE(RUN(rename("out.nc", "new.nc")));
  define(&file);
  if (step == 1) ALONE(RUN(rename("out.nc", "new.nc")));
  put_fixed(&file, 0);
  if (step == 2) ALONE(RUN(rename("out.nc", "new.nc")));
  put(&file, 0);
  if (step == 3) ALONE(RUN(rename("out.nc", "new.nc")));
  done(&file);
  kind("out.nc"), kind("new.nc");
}
static void renamed_defining(void) { renamed(0), show("new.nc"); }
static void renamed_defined(void) { renamed(1), show("new.nc"); }
static void renamed_writing(void) { renamed(2), show("new.nc"); }
static void renamed_closing(void) { renamed(3), show("new.nc"); }
static void renamed_reading(void) {
  struct file file;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", NC_NOWRITE)) return;
  ALONE(RUN(rename("out.nc", "new.nc")));
  get(&file), done(&file);
}
static void folder_renamed(void) {
  struct file file;
  ALONE(mkdir("there", 0777));
  if (make(&file, "there/out.nc", NC_CLOBBER)) return;
  ALONE(RUN(rename("there", "elsewhere")));
  put(&file, 0), done(&file);
  show("elsewhere/out.nc"), kind("there");
}
static void replaced_writing(void) { /* by another, whole file, under its name */
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put_fixed(&file, 0);
  ALONE(scribble("other", 777); RUN(rename("other", "out.nc")));
  put(&file, 0), done(&file);
  struct stat status;
  if (rank == 0 && stat("out.nc", &status) == 0) say("out.nc has %d bytes", (int)status.st_size);
}
static void replaced_reading(void) {
  struct file file, other;
  whole("out.nc", NC_CLOBBER);
  if (make(&other, "other.nc", NC_CLOBBER)) return;
  put(&other, 1000), done(&other);
  if (reopen(&file, "out.nc", NC_NOWRITE)) return;
  ALONE(RUN(rename("other.nc", "out.nc")));
  get(&file), done(&file);
  show("out.nc");
}
static void removed_writing(void) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put_fixed(&file, 0);
  ALONE(RUN(unlink("out.nc")));
  put(&file, 0), TRY(ncmpi_sync(file.id)), done(&file);
  kind("out.nc");
}
static void removed_reading(void) {
  struct file file;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", NC_NOWRITE)) return;
  ALONE(RUN(unlink("out.nc")));
  get(&file), done(&file);
}
static void removed_and_made(void) {
  struct file file, again;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put_fixed(&file, 0);
  ALONE(RUN(unlink("out.nc")));
  make(&again, "out.nc", NC_NOCLOBBER);
  put(&file, 50), put(&again, 0);
  done(&file), done(&again);
  show("out.nc");
}
static void folder_made_anew(void) {
  int n;
  for (n = 0; n < 3; ++n) {
    ALONE(mkdir("there", 0777));
    whole("there/out.nc", NC_NOCLOBBER);
    show("there/out.nc");
    ALONE(system("rm -r there"));
  }
}
static void made_between_opens(void) { /* other values under the same name, of the same size */
  struct file file;
  int n;
  for (n = 0; n < 3; ++n) {
    if (make(&file, "new.nc", NC_CLOBBER)) return;
    put(&file, 10 * n), done(&file);
    ALONE(
        system("rm -rf out.nc out.nc.subfiles; mv new.nc out.nc;"
               "test ! -d new.nc.subfiles || mv new.nc.subfiles out.nc.subfiles"));
    show("out.nc");
  }
}

static void cut(int closing) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put(&file, 50);
  TRY(ncmpi_sync(file.id));
  if (!closing) ALONE(RUN(truncate("out.nc", 0)));
  put(&file, 0);
  if (closing) ALONE(RUN(truncate("out.nc", 0)));
  done(&file);
}
static void cut_writing(void) { cut(0); }
static void cut_closing(void) { cut(1); }
static void cut_reading(void) {
  struct file file;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", NC_NOWRITE)) return;
  ALONE(RUN(truncate("out.nc", 300)));
  get(&file), done(&file);
}
static void grown(int writing) {
  struct file file;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", writing ? NC_WRITE : NC_NOWRITE)) return;
  ALONE({
    FILE* other = fopen("out.nc", "a");
    if (other) fputs("added by another program", other), fclose(other);
  });
  if (writing) put(&file, 0);
  get(&file), done(&file);
  show("out.nc");
}
static void grown_writing(void) { grown(1); }
static void grown_reading(void) { grown(0); }
static void cut_of_padding(
    void) { /* a file whose last bytes are missing, as some writers leave it */
  int id, dim, var;
  const short values[3] = {1, 2, 3};
  const MPI_Offset start = 0, count = 3;
  TRY(ncmpi_create(MPI_COMM_WORLD, "out.nc", NC_CLOBBER, MPI_INFO_NULL, &id));
  TRY(ncmpi_def_dim(id, "x", 3, &dim));
  TRY(ncmpi_def_var(id, "v", NC_SHORT, 1, &dim, &var));
  TRY(ncmpi_enddef(id));
  TRY(ncmpi_put_vara_short_all(id, var, &start, &count, values));
  TRY(ncmpi_close(id));
  ALONE({
    struct stat status;
    if (stat("out.nc", &status) == 0 && S_ISREG(status.st_mode))
      RUN(truncate("out.nc", (status.st_size - 1) / 4 * 4 + 2));
  });
  show("out.nc");
}
static void never_written(void) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put_fixed(&file, 0), done(&file);
  show("out.nc");
  if (reopen(&file, "out.nc", NC_WRITE)) return;
  put(&file, 0), done(&file);
  show("out.nc");
}

static void opened_twice(void) {
  struct file one, two;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&one, "out.nc", NC_NOWRITE) || reopen(&two, "out.nc", NC_NOWRITE)) return;
  get(&one), get(&two);
  done(&one), get(&two), done(&two);
}
static void opened_by_reader(void) {
  struct file one, two;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&one, "out.nc", NC_WRITE)) return;
  put(&one, 0), TRY(ncmpi_sync(one.id));
  if (reopen(&two, "out.nc", NC_NOWRITE) == 0) get(&two);
  done(&one);
  get(&two), done(&two);
}
static void opened_by_writers(void) {
  struct file one, two;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&one, "out.nc", NC_WRITE) || reopen(&two, "out.nc", NC_WRITE)) return;
  put_fixed(&one, 20), TRY(ncmpi_sync(one.id));
  put_record(&two, 1, 30), TRY(ncmpi_sync(two.id));
  done(&one), done(&two);
  show("out.nc");
}
static void created_twice(void) {
  struct file one, two;
  if (make(&one, "out.nc", NC_CLOBBER)) return;
  if (make(&two, "out.nc", NC_NOCLOBBER) == 0) done(&two);
  put(&one, 0), done(&one);
  show("out.nc");
}
static void created_again(void) { /* while the first is open yet */
  struct file one, two;
  if (make(&one, "out.nc", NC_CLOBBER)) return;
  put(&one, 0), TRY(ncmpi_sync(one.id));
  if (make(&two, "out.nc", NC_CLOBBER)) return;
  put(&two, 0);
  done(&one), done(&two);
  show("out.nc");
}
static void synced_copy(void) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put(&file, 0), TRY(ncmpi_sync(file.id));
  ALONE(system(
      "cp -r out.nc copy.nc; test ! -d out.nc.subfiles || cp -r out.nc.subfiles copy.nc.subfiles"));
  show("copy.nc");
  put(&file, 5), done(&file);
  show("copy.nc");
}
static void untouched(void) { /* opened to write, and closed */
  struct file file;
  struct stat before, after;
  memset(&before, 0, sizeof before), memset(&after, 0, sizeof after);
  whole("out.nc", NC_CLOBBER);
  ALONE(stat("out.nc", &before); sleep(1));
  if (reopen(&file, "out.nc", NC_WRITE)) return;
  done(&file);
  ALONE(stat("out.nc", &after));
  say("size %s, %s", before.st_size == after.st_size ? "kept" : "changed",
      before.st_mtime == after.st_mtime ? "not written to" : "written to");
  show("out.nc");
}
static void mapped_meanwhile(void) {
  struct file file;
  whole("out.nc", NC_CLOBBER);
  if (reopen(&file, "out.nc", NC_WRITE)) return;
  const int fd = open("out.nc", O_RDONLY);
  void* const map = mmap(NULL, 64, PROT_READ, MAP_SHARED, fd, 0);
  put(&file, 3), done(&file);
  if (map != MAP_FAILED) say("maps \"%.3s\"", (const char*)map), munmap(map, 64);
  close(fd);
  show("out.nc");
}
static void locked_by_others(void) {
  struct file file;
  struct flock lock;
  memset(&lock, 0, sizeof lock);
  lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET;
  whole("out.nc", NC_CLOBBER);
  const int fd = open("out.nc", O_RDWR);
  if (rank == 0) fcntl(fd, F_SETLK, &lock);
  MPI_Barrier(MPI_COMM_WORLD);
  if (reopen(&file, "out.nc", NC_WRITE) == 0) put(&file, 1), done(&file);
  close(fd);
  show("out.nc");
}
static void sparse(void) {
  int id, dim, var;
  const MPI_Offset length = 400 << 20, at = (400 << 20) - 1;
  MPI_Offset start = at - rank, one = 1;
  const double value = 5 + rank;
  struct stat status;
  TRY(ncmpi_create(MPI_COMM_WORLD, "out.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id));
  TRY(ncmpi_def_dim(id, "x", length, &dim));
  TRY(ncmpi_def_var(id, "v", NC_DOUBLE, 1, &dim, &var));
  TRY(ncmpi_enddef(id));
  TRY(ncmpi_put_vara_double_all(id, var, &start, &one, &value));
  TRY(ncmpi_close(id));
  if (rank == 0 && stat("out.nc", &status) == 0)
    say("%s", status.st_blocks > 200000 ? "full" : "sparse");
  MPI_Barrier(MPI_COMM_WORLD);
  ALONE({
    double back = 0;
    int own;
    start = at;
    if (ncmpi_open(MPI_COMM_SELF, "out.nc", NC_NOWRITE, MPI_INFO_NULL, &own) == 0) {
      say("read: %s", ncmpi_strerrno(ncmpi_get_vara_double_all(own, 0, &start, &one, &back)));
      ncmpi_close(own);
    }
    say("%g", back);
    system("rm -rf out.nc out.nc.subfiles");
  });
}
static void far_record(void) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put_record(&file, 5, 0), done(&file);
  show("out.nc");
}

const struct program change_programs[] = {{"chdir_defining", chdir_defining},
                                          {"chdir_writing", chdir_writing},
                                          {"chdir_two", chdir_two},
                                          {"chdir_reading", chdir_reading},
                                          {"chdir_adding", chdir_adding},
                                          {"chdir_redefining", chdir_redefining},
                                          {"chdir_abort", chdir_abort},
                                          {"folder_gone", folder_gone},
                                          {"in_gone_folder", in_gone_folder},
                                          {"renamed_defining", renamed_defining},
                                          {"renamed_defined", renamed_defined},
                                          {"renamed_writing", renamed_writing},
                                          {"renamed_closing", renamed_closing},
                                          {"renamed_reading", renamed_reading},
                                          {"folder_renamed", folder_renamed},
                                          {"replaced_writing", replaced_writing},
                                          {"replaced_reading", replaced_reading},
                                          {"removed_writing", removed_writing},
                                          {"removed_reading", removed_reading},
                                          {"removed_and_made", removed_and_made},
                                          {"folder_made_anew", folder_made_anew},
                                          {"made_between_opens", made_between_opens},
                                          {"cut_writing", cut_writing},
                                          {"cut_closing", cut_closing},
                                          {"cut_reading", cut_reading},
                                          {"grown_writing", grown_writing},
                                          {"grown_reading", grown_reading},
                                          {"cut_of_padding", cut_of_padding},
                                          {"never_written", never_written},
                                          {"opened_twice", opened_twice},
                                          {"opened_by_reader", opened_by_reader},
                                          {"opened_by_writers", opened_by_writers},
                                          {"created_twice", created_twice},
                                          {"created_again", created_again},
                                          {"synced_copy", synced_copy},
                                          {"untouched", untouched},
                                          {"mapped_meanwhile", mapped_meanwhile},
                                          {"locked_by_others", locked_by_others},
                                          {"sparse", sparse},
                                          {"far_record", far_record},
                                          {NULL, NULL}};
