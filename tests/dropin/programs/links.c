/* Names, links, modes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs.h"

static void to_existing(int mode) {
  whole("real.nc", NC_CLOBBER);
  ALONE(RUN(symlink("real.nc", "link.nc")));
  struct file file;
  if (make(&file, "link.nc", mode) == NC_NOERR) {
    put(&file, 7);
    done(&file);
  }
  kind("link.nc"), kind("real.nc"), show("real.nc"), show("link.nc");
}
static void link_clobber(void) { to_existing(NC_CLOBBER); }
static void link_noclobber(void) { to_existing(NC_NOCLOBBER); }

static void dangling(int mode) {
  ALONE(RUN(symlink("real.nc", "link.nc")));
  whole("link.nc", mode);
  kind("link.nc"), kind("real.nc"), show("real.nc"), show("link.nc");
}
static void dangling_clobber(void) { dangling(NC_CLOBBER); }
static void dangling_noclobber(void) { dangling(NC_NOCLOBBER); }

static void chain(int mode) {
  ALONE({
    RUN(mkdir("a", 0777)), RUN(mkdir("b", 0777));
    RUN(symlink("a/one.nc", "link.nc")), RUN(symlink("../b/two.nc", "a/one.nc")),
        RUN(symlink("end.nc", "b/two.nc"));
  });
  whole("link.nc", mode);
  kind("link.nc"), kind("a/one.nc"), kind("b/two.nc"), kind("b/end.nc"), show("b/end.nc"),
      show("a/one.nc");
}
static void chain_clobber(void) { chain(NC_CLOBBER); }
static void chain_noclobber(void) { chain(NC_NOCLOBBER); }

static void loop_of_links(int mode) {
  ALONE(RUN(symlink("b.nc", "a.nc")); RUN(symlink("a.nc", "b.nc")));
  whole("a.nc", mode);
  kind("a.nc");
}
static void loop_clobber(void) { loop_of_links(NC_CLOBBER); }
static void loop_noclobber(void) { loop_of_links(NC_NOCLOBBER); }
static void loop_open(void) {
  struct file file;
  ALONE(RUN(symlink("b.nc", "a.nc")); RUN(symlink("a.nc", "b.nc")));
  reopen(&file, "a.nc", NC_NOWRITE);
  reopen(&file, "a.nc", NC_WRITE);
}
static void dangling_open(void) {
  struct file file;
  ALONE(RUN(symlink("real.nc", "link.nc")));
  reopen(&file, "link.nc", NC_NOWRITE);
  reopen(&file, "link.nc", NC_WRITE);
  kind("real.nc");
}
static void link_into_nowhere(int mode) {
  ALONE(RUN(symlink("no/such/real.nc", "link.nc")));
  whole("link.nc", mode);
  kind("link.nc");
}
static void nowhere_clobber(void) { link_into_nowhere(NC_CLOBBER); }
static void nowhere_noclobber(void) { link_into_nowhere(NC_NOCLOBBER); }
static void link_to_folder(void) {
  ALONE(RUN(mkdir("folder", 0777)); scribble("folder/other", 5); RUN(symlink("folder", "link.nc")));
  whole("link.nc", NC_CLOBBER);
  whole("link.nc", NC_NOCLOBBER);
  kind("link.nc"), kind("folder/other");
}
static void absolute_link(void) {
  char target[4096];
  if (getcwd(target, 4000) == NULL) return;
  strcat(target, "/real.nc");
  ALONE(RUN(symlink(target, "link.nc")));
  whole("link.nc", NC_NOCLOBBER);
  kind("link.nc"), kind("real.nc"), show("real.nc");
}
static void link_abort(void) {
  struct file file;
  ALONE(RUN(symlink("real.nc", "link.nc")));
  if (begin(&file, "link.nc", NC_NOCLOBBER) == NC_NOERR) TRY(ncmpi_abort(file.id));
  kind("link.nc");
}
static void link_delete(void) {
  whole("real.nc", NC_CLOBBER);
  ALONE(RUN(symlink("real.nc", "link.nc")));
  if (rank == 0) say("delete: %s", ncmpi_strerrno(ncmpi_delete("link.nc", MPI_INFO_NULL)));
  kind("link.nc"), show("real.nc");
}
static void link_moved_meanwhile(void) {
  struct file file;
  ALONE(RUN(symlink("one.nc", "link.nc")));
  if (make(&file, "link.nc", NC_CLOBBER) != NC_NOERR) return;
  put_fixed(&file, 0);
  ALONE(RUN(unlink("link.nc")); RUN(symlink("two.nc", "link.nc")));
  put(&file, 0);
  done(&file);
  kind("one.nc"), kind("two.nc"), show("one.nc");
}

static void hard_link(void) {
  whole("one.nc", NC_CLOBBER);
  ALONE(RUN(link("one.nc", "two.nc")));
  struct file file;
  if (reopen(&file, "two.nc", NC_WRITE) == NC_NOERR) {
    put(&file, 5);
    done(&file);
  }
  kind("one.nc"), show("one.nc");
  if (make(&file, "one.nc", NC_CLOBBER) == NC_NOERR) {
    put(&file, 9);
    done(&file);
  }
  kind("two.nc"), show("two.nc");
}
static void hard_link_meanwhile(void) {
  struct file file;
  if (make(&file, "one.nc", NC_CLOBBER) != NC_NOERR) return;
  put_fixed(&file, 0);
  ALONE(RUN(link("one.nc", "two.nc")); RUN(unlink("one.nc")));
  put(&file, 0);
  done(&file);
  kind("one.nc"), kind("two.nc"), show("two.nc");
}

static void keeps_mode(void) {
  struct stat before, after;
  memset(&before, 0, sizeof before), memset(&after, 0, sizeof after);
  ALONE(scribble("out.nc", 50); RUN(chmod("out.nc", 0640)); stat("out.nc", &before));
  whole("out.nc", NC_CLOBBER);
  if (rank == 0) stat("out.nc", &after);
  say("inode %s", before.st_ino == after.st_ino ? "kept" : "changed");
  kind("out.nc");
}
static void keeps_private(void) { /* and what belongs to the file */
  ALONE(scribble("out.nc", 50); RUN(chmod("out.nc", 0600)));
  whole("out.nc", NC_CLOBBER);
  if (rank == 0) {
    struct stat file, beside;
    const int any = stat("out.nc.subfiles", &beside) == 0;
    if (stat("out.nc", &file) != 0) say("out.nc is gone");
    say("%s", (file.st_mode & 077) != 0 || (any && (beside.st_mode & 077) != 0) ? "others may look"
                                                                                : "private");
  }
}
static void with_mask(mode_t mask) {
  umask(mask);
  whole("out.nc", NC_CLOBBER);
  kind("out.nc");
}
static void umask_077(void) { with_mask(077); }
static void umask_000(void) { with_mask(0); }
static void umask_meanwhile(void) {
  struct file file;
  umask(027);
  if (begin(&file, "out.nc", NC_CLOBBER) != NC_NOERR) return;
  umask(0777);
  define(&file);
  put(&file, 0);
  umask(022);
  done(&file);
  kind("out.nc"), show("out.nc");
}
static void mode_000_meanwhile(void) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER) != NC_NOERR) return;
  ALONE(RUN(chmod("out.nc", 0)));
  put(&file, 0);
  done(&file);
  ALONE(RUN(chmod("out.nc", 0644)));
  show("out.nc");
}

static void named(const char* name) {
  struct file file;
  char back[5000] = "";
  int length = 0;
  call_it(name);
  whole(name, NC_CLOBBER);
  kind(name), show(name);
  if (reopen(&file, name, NC_WRITE) == NC_NOERR) {
    get(&file);
    ncmpi_inq_path(file.id, &length, back);
    say("path %s", strcmp(back, name) == 0 ? "as given" : back);
    done(&file);
  }
  if (rank == 0) say("delete: %s", ncmpi_strerrno(ncmpi_delete(name, MPI_INFO_NULL)));
  kind(name);
  call_it(NULL);
}
static void name_plain(void) { named("out.nc"); }
static void name_spaces(void) { named(" a name  with spaces .nc "); }
static void name_utf8(void) { named("Temp\xc3\xa9rature \xe2\x82\xac.nc"); }
static void name_latin1(void) { named("Temp\xe9rature.nc"); }
static void name_newline(void) { named("two\nlines.nc"); }
static void name_quotes(void) { named("\"it's\" `a` $(name) %s %n.nc"); }
static void name_pattern(void) { named("*?[a-z]{b}.nc"); }
static void name_dash(void) { named("-rf"); }
static void name_hints(void) { named("a=b;c=d,e.nc"); }
static void name_colon(void) { named("run:1.nc"); }
static void name_time(void) { named("wrfout_d01_2026-11-29_12:00:00"); }
static void name_ufs(void) {
  named("ufs:out.nc");
  kind("out.nc");
}
static void name_lustre(void) {
  named("lustre:out.nc");
  kind("out.nc");
}
static void name_no_prefix(void) { named("myfs:out.nc"); }
static void name_file_url(void) { named("file:out.nc"); }
static void name_twice(void) {
  named("ufs:nfs:out.nc");
  kind("out.nc");
  kind("nfs:out.nc");
}
static void name_dots(void) {
  ALONE(mkdir("a", 0777));
  named("a/.././a//b.nc");
  kind("a/b.nc");
}
static void name_hidden(void) { named(".out.nc"); }
static void name_header(void) { named("header.nc"); }
static void name_subfiles(void) { named("out.nc.subfiles"); }
static void name_state(void) { named("state"); }
static void name_number(void) { named("0"); }
static void name_slash(void) {
  named("out.nc/");
  kind("out.nc");
}
static void name_dot(void) { named("."); }
static void name_long(int bytes) {
  char name[400];
  memset(name, 'n', sizeof name);
  name[bytes] = '\0';
  call_it(name);
  whole(name, NC_CLOBBER);
  show(name);
  call_it(NULL);
}
static void name_200(void) { name_long(200); }
static void name_255(void) { name_long(255); }
static void name_256(void) { name_long(256); }
static void path_long(void) {
  char path[4000] = "";
  int depth;
  for (depth = 0; depth < 15; ++depth) {
    memset(path + strlen(path), 'd', 200);
    ALONE(mkdir(path, 0777));
    strcat(path, "/");
  }
  strcat(path, "out.nc");
  call_it(path);
  whole(path, NC_CLOBBER);
  show(path);
  call_it(NULL);
}
static void name_empty(void) {
  whole("", NC_CLOBBER);
  whole("", NC_NOCLOBBER);
}

static void exists(void) {
  whole("out.nc", NC_CLOBBER);
  whole("out.nc", NC_NOCLOBBER);
  show("out.nc");
}
static void over(const char* path) {
  struct file file;
  whole(path, NC_CLOBBER);
  whole(path, NC_NOCLOBBER);
  kind(path);
  reopen(&file, path, NC_NOWRITE);
  reopen(&file, path, NC_WRITE);
}
static void over_folder(void) {
  ALONE(mkdir("folder", 0777); scribble("folder/other", 5));
  over("folder");
  kind("folder/other");
}
static void over_null(void) {
  struct file file;
  if (make(&file, "/dev/null", NC_CLOBBER) == NC_NOERR) {
    put(&file, 0);
    done(&file);
  }
  kind("/dev/null");
}
static void over_full(void) {
  struct file file;
  begin(&file, "/dev/full", NC_CLOBBER);
  kind("/dev/full");
}
static void in_no_folder(void) { over("no/such/out.nc"); }
static void in_a_file(void) {
  ALONE(scribble("file", 5));
  over("file/out.nc");
}
static void open_bad(void) {
  struct file file;
  ALONE(scribble("empty.nc", 0); scribble("text.nc", 500); scribble("short.nc", 3));
  whole("cut.nc", NC_CLOBBER);
  ALONE(RUN(truncate("cut.nc", 30)));
  reopen(&file, "empty.nc", NC_NOWRITE);
  reopen(&file, "empty.nc", NC_WRITE);
  reopen(&file, "text.nc", NC_NOWRITE);
  reopen(&file, "short.nc", NC_NOWRITE);
  reopen(&file, "cut.nc", NC_NOWRITE);
  kind("empty.nc"), kind("text.nc");
}
static void formats(void) {
  static const char* const names[] = {"empty.nc", "text.nc", "no.nc", "folder", "one.nc",
                                      "two.nc",   "five.nc", "",      NULL};
  int n, format;
  ALONE(scribble("empty.nc", 0); scribble("text.nc", 500); mkdir("folder", 0777));
  whole("one.nc", 0), whole("two.nc", NC_64BIT_OFFSET), whole("five.nc", NC_64BIT_DATA);
  for (n = 0; names[n]; ++n) {
    format = -7;
    const int code = ncmpi_inq_file_format(names[n], &format);
    say("%s: %s %d", names[n], ncmpi_strerrno(code), code ? 0 : format);
  }
}
static void deletes(void) {
  ALONE(mkdir("folder", 0777); scribble("text", 5));
  if (rank == 0) {
    say("delete no: %s", ncmpi_strerrno(ncmpi_delete("no.nc", MPI_INFO_NULL)));
    say("delete folder: %s", ncmpi_strerrno(ncmpi_delete("folder", MPI_INFO_NULL)));
    say("delete text: %s", ncmpi_strerrno(ncmpi_delete("text", MPI_INFO_NULL)));
  }
  kind("folder"), kind("text");
}

const struct program link_programs[] = {{"link_clobber", link_clobber},
                                        {"link_noclobber", link_noclobber},
                                        {"dangling_clobber", dangling_clobber},
                                        {"dangling_noclobber", dangling_noclobber},
                                        {"chain_clobber", chain_clobber},
                                        {"chain_noclobber", chain_noclobber},
                                        {"loop_clobber", loop_clobber},
                                        {"loop_noclobber", loop_noclobber},
                                        {"loop_open", loop_open},
                                        {"dangling_open", dangling_open},
                                        {"nowhere_clobber", nowhere_clobber},
                                        {"nowhere_noclobber", nowhere_noclobber},
                                        {"link_to_folder", link_to_folder},
                                        {"absolute_link", absolute_link},
                                        {"link_abort", link_abort},
                                        {"link_delete", link_delete},
                                        {"link_moved_meanwhile", link_moved_meanwhile},
                                        {"hard_link", hard_link},
                                        {"hard_link_meanwhile", hard_link_meanwhile},
                                        {"keeps_mode", keeps_mode},
                                        {"keeps_private", keeps_private},
                                        {"umask_077", umask_077},
                                        {"umask_000", umask_000},
                                        {"umask_meanwhile", umask_meanwhile},
                                        {"mode_000_meanwhile", mode_000_meanwhile},
                                        {"name_plain", name_plain},
                                        {"name_spaces", name_spaces},
                                        {"name_utf8", name_utf8},
                                        {"name_latin1", name_latin1},
                                        {"name_newline", name_newline},
                                        {"name_quotes", name_quotes},
                                        {"name_pattern", name_pattern},
                                        {"name_dash", name_dash},
                                        {"name_hints", name_hints},
                                        {"name_colon", name_colon},
                                        {"name_time", name_time},
                                        {"name_ufs", name_ufs},
                                        {"name_lustre", name_lustre},
                                        {"name_no_prefix", name_no_prefix},
                                        {"name_file_url", name_file_url},
                                        {"name_twice", name_twice},
                                        {"name_dots", name_dots},
                                        {"name_hidden", name_hidden},
                                        {"name_header", name_header},
                                        {"name_subfiles", name_subfiles},
                                        {"name_state", name_state},
                                        {"name_number", name_number},
                                        {"name_slash", name_slash},
                                        {"name_dot", name_dot},
                                        {"name_200", name_200},
                                        {"name_255", name_255},
                                        {"name_256", name_256},
                                        {"path_long", path_long},
                                        {"name_empty", name_empty},
                                        {"exists", exists},
                                        {"over_folder", over_folder},
                                        {"over_null", over_null},
                                        {"over_full", over_full},
                                        {"in_no_folder", in_no_folder},
                                        {"in_a_file", in_a_file},
                                        {"open_bad", open_bad},
                                        {"formats", formats},
                                        {"deletes", deletes},
                                        {NULL, NULL}};
