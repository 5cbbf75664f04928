/* What a program does with its process: its children, threads, signals, environment, descriptors
 * and limits. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

/* -- children */

static void reap(pid_t child) {
  int status = 0;
  if (child <= 0 || waitpid(child, &status, 0) != child)
    say("no child");
  else if (WIFSIGNALED(status))
    say("the child was ended by signal %d", WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0)
    say("the child returned %d", WEXITSTATUS(status));
}
static void with_child(void (*child)(void)) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put_fixed(&file, 0), put_record(&file, 0, 0);
  fflush(NULL);
  const pid_t id = fork();
  if (id == 0) child(), _exit(0);
  reap(id);
  put_record(&file, 1, 0), put_record(&file, 2, 0), done(&file);
  show("out.nc");
}
static void child_nothing(void) {}
static void child_writes_text(void) { scribble("text", 4000); }
static void child_execs(void) { execl("/bin/true", "true", (char*)NULL); }
static void child_exits(void) { exit(0); }
static void child_reads_descriptors(void) { /* as subprocess modules do */
  int fd;
  for (fd = 3; fd < 1024; ++fd) close(fd);
  execl("/bin/true", "true", (char*)NULL);
}
static void child_gone(void) { with_child(child_nothing); }
static void child_text(void) { with_child(child_writes_text), kind("text"); }
static void child_exec(void) { with_child(child_execs); }
static void child_exit(void) { with_child(child_exits); }
static void child_closes(void) { with_child(child_reads_descriptors); }
static void child_outlives(void) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  fflush(NULL);
  const pid_t id = fork();
  if (id == 0) usleep(300000), _exit(0);
  put(&file, 0), done(&file);
  show("out.nc");
  reap(id);
}
static void shell_meanwhile(void) {
  struct file file;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put_fixed(&file, 0);
  RUN(system("true"));
  put(&file, 0);
  FILE* pipe = popen("cat > /dev/null", "w");
  if (pipe) fputs("text", pipe), pclose(pipe);
  done(&file);
  show("out.nc");
}
static void child_pending(void) {
  struct file file;
  int request, status = 0, values[4] = {0, 1, 2, 3}, i;
  const MPI_Offset start = 4 * rank, count = 4;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  for (i = 0; i < 4; ++i) values[i] += 4 * rank;
  TRY(ncmpi_iput_vara_int(file.id, file.fixed, &start, &count, values, &request));
  fflush(NULL);
  const pid_t id = fork();
  if (id == 0) _exit(0);
  reap(id);
  TRY(ncmpi_wait_all(file.id, 1, &request, &status));
  put_record(&file, 0, 0), done(&file);
  show("out.nc");
}

/* -- threads; each a file of its own */

static void* one_thread(void* number) {
  char path[40];
  int id, dim, var, i, code = 0, values[100];
  const MPI_Offset start = 0, count = 100;
  snprintf(path, sizeof path, "rank%d.%d.nc", rank, *(int*)number);
  for (i = 0; i < 100; ++i) values[i] = *(int*)number * 1000 + i;
  code |= ncmpi_create(MPI_COMM_SELF, path, NC_CLOBBER, MPI_INFO_NULL, &id);
  code |= ncmpi_def_dim(id, "x", 100, &dim), code |= ncmpi_def_var(id, "v", NC_INT, 1, &dim, &var);
  code |= ncmpi_enddef(id), code |= ncmpi_put_vara_int_all(id, var, &start, &count, values);
  code |= ncmpi_close(id);
  *(int*)number = code;
  return NULL;
}
static void other_thread(
    void) { /* one after the other: PnetCDF is not made for more unless it is built so */
  int n;
  for (n = 0; n < 4; ++n) {
    pthread_t thread;
    int number = n;
    RUN(pthread_create(&thread, NULL, one_thread, &number));
    pthread_join(thread, NULL);
    told("thread", number);
  }
  show("rank0.0.nc"), show("rank0.3.nc");
}
static struct file of_thread;
static void* closes(void* nothing) {
  ncmpi_close(of_thread.id);
  return nothing;
}
static void closed_by_thread(void) {
  pthread_t thread;
  if (make(&of_thread, "out.nc", NC_CLOBBER)) return;
  put(&of_thread, 0);
  RUN(pthread_create(&thread, NULL, closes, NULL));
  pthread_join(thread, NULL);
  show("out.nc");
}
static volatile int stop_working;
static void* works(void* nothing) {
  while (!stop_working) {
    void* const some = malloc(1000);
    memset(some, 1, 1000), free(some);
  }
  return nothing;
}
static void working_thread(void) {
  pthread_t thread;
  stop_working = 0;
  RUN(pthread_create(&thread, NULL, works, NULL));
  whole("out.nc", NC_CLOBBER);
  stop_working = 1;
  pthread_join(thread, NULL);
  show("out.nc");
}

/* -- signals */

static volatile sig_atomic_t signals;
static void count_signal(int signal) { (void)signal, ++signals; }
static void alarms(int flags) {
  struct sigaction action, before, after;
  struct itimerval timer = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};
  memset(&action, 0, sizeof action);
  action.sa_handler = count_signal, action.sa_flags = flags;
  signals = 0;
  sigaction(SIGALRM, &action, &before);
  setitimer(ITIMER_REAL, &timer, NULL);
  whole("out.nc", NC_CLOBBER);
  struct file file;
  if (reopen(&file, "out.nc", NC_WRITE) == 0) get(&file), TRY(ncmpi_sync(file.id)), done(&file);
  int waited;
  for (waited = 0; signals == 0 && waited < 1000; ++waited)
    usleep(1000); /* all that may have been quick */
  setitimer(ITIMER_REAL, &off, NULL);
  sigaction(SIGALRM, &before, &after);
  say("handler %s, %s", after.sa_handler == count_signal ? "kept" : "lost",
      signals > 0 ? "called" : "not called");
  show("out.nc");
}
static void alarm_interrupts(void) { alarms(0); }
static void alarm_restarts(void) { alarms(SA_RESTART); }
static void large_interrupted(void) { /* one large write */
  struct sigaction action, before;
  struct itimerval timer = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
  const MPI_Offset length = 3 << 20, start = rank * length;
  int id, dim, var, i, wrong = 0, *const values = malloc(sizeof(int) * (size_t)length);
  memset(&action, 0, sizeof action);
  action.sa_handler = count_signal;
  sigaction(SIGALRM, &action, &before);
  for (i = 0; i < length; ++i) values[i] = (int)start + i;
  setitimer(ITIMER_REAL, &timer, NULL);
  TRY(ncmpi_create(MPI_COMM_WORLD, "out.nc", NC_CLOBBER, MPI_INFO_NULL, &id));
  TRY(ncmpi_def_dim(id, "x", length * size, &dim));
  TRY(ncmpi_def_var(id, "v", NC_INT, 1, &dim, &var));
  TRY(ncmpi_enddef(id));
  TRY(ncmpi_put_vara_int_all(id, var, &start, &length, values));
  memset(values, 0, sizeof(int) * (size_t)length);
  TRY(ncmpi_get_vara_int_all(id, var, &start, &length, values));
  TRY(ncmpi_close(id));
  setitimer(ITIMER_REAL, &off, NULL);
  sigaction(SIGALRM, &before, NULL);
  for (i = 0; i < length; ++i) wrong += values[i] != (int)start + i;
  free(values);
  say("%d wrong", wrong);
}
static void dispositions(void) { /* are as the program has set them */
  static const int numbers[] = {SIGTERM, SIGINT, SIGHUP,  SIGPIPE, SIGXFSZ,
                                SIGSEGV, SIGBUS, SIGUSR1, SIGCHLD, SIGALRM};
  struct sigaction before[10], after;
  sigset_t mask_before, mask_after;
  int n, changed = 0;
  for (n = 0; n < 10; ++n) sigaction(numbers[n], NULL, &before[n]);
  sigprocmask(SIG_SETMASK, NULL, &mask_before);
  whole("out.nc", NC_CLOBBER);
  for (n = 0; n < 10; ++n) {
    sigaction(numbers[n], NULL, &after);
    changed += after.sa_handler != before[n].sa_handler;
  }
  sigprocmask(SIG_SETMASK, NULL, &mask_after);
  for (n = 1; n < 32; ++n) changed += sigismember(&mask_before, n) != sigismember(&mask_after, n);
  say("%d changed", changed);
}
static void all_blocked(void) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  whole("out.nc", NC_CLOBBER);
  sigprocmask(SIG_SETMASK, &before, NULL);
  show("out.nc");
}

/* -- environment */

static void environment(void) {
  struct file file;
  setenv("PNETCDF_HINTS", "nc_var_align_size=512", 1);
  if (begin(&file, "out.nc", NC_CLOBBER)) return;
  setenv("PNETCDF_HINTS", "nc_var_align_size=1024;cb_nodes=1;nonsense", 1);
  setenv("TMPDIR", "/no/such/folder", 1);
  define(&file), put_fixed(&file, 0);
  unsetenv("PNETCDF_HINTS"), setenv("HOME", "", 1), setenv("TZ", "Asia/Tokyo", 1);
  put(&file, 0), done(&file);
  unsetenv("TMPDIR");
  show("out.nc");
}
static void environment_cleared(void) {
  extern char** environ;
  char** const before = environ;
  struct file file;
  if (begin(&file, "out.nc", NC_CLOBBER)) return;
  environ = NULL;
  define(&file), put(&file, 0);
  done(&file);
  environ = before;
  show("out.nc");
}
static void locales(void) {
  if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "C.UTF-8")) say("no locale");
  whole("out.nc", NC_CLOBBER);
  show("out.nc");
  setlocale(LC_ALL, "C");
}

/* -- descriptors */

static void closed_before(int first, int last) {
  int saved[3], n;
  for (n = 0; n < 3; ++n) saved[n] = fcntl(n, F_DUPFD_CLOEXEC, 250);
  for (n = first; n <= last; ++n) close(n);
  whole("out.nc", NC_CLOBBER);
  show("out.nc");
  for (n = 0; n < 3; ++n) dup2(saved[n], n), close(saved[n]);
}
static void stdin_closed(void) { closed_before(0, 0); }
static void all_three_closed(void) { closed_before(0, 2); }
static void stdout_reopened(void) { /* while the file may have its number */
  struct file file;
  int saved, log;
  fflush(stdout);
  saved = fcntl(1, F_DUPFD_CLOEXEC, 250);
  close(1);
  const int code = make(&file, "out.nc", NC_CLOBBER);
  if (code == 0) put(&file, 0);
  (void)!write(1, "a line that a program prints though nothing is there\n", 53);
  log = open("log.txt", O_WRONLY | O_CREAT, 0666);
  if (log != 1) dup2(log, 1), close(log);
  (void)!write(1, "a line of the log\n", 18);
  if (code == 0) put(&file, 0), done(&file);
  dup2(saved, 1), close(saved);
  show("out.nc");
}
static void few_descriptors(void) {
  struct file files[40];
  struct rlimit before, low;
  int n, made = 0, codes[3] = {0, 0, 0};
  getrlimit(RLIMIT_NOFILE, &before);
  low = before, low.rlim_cur = 60;
  setrlimit(RLIMIT_NOFILE, &low);
  for (n = 0; n < 40; ++n) {
    char path[20];
    snprintf(path, sizeof path, "%d.nc", n);
    const int code = ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &files[n].id);
    if (code) {
      codes[0] = code;
      break;
    }
    ++made;
  }
  setrlimit(RLIMIT_NOFILE, &before);
  for (n = 0; n < made; ++n)
    codes[1] |= ncmpi_enddef(files[n].id), codes[2] |= ncmpi_close(files[n].id);
  say("%s, %s, %s", codes[0] ? "there was an end" : "no end", ncmpi_strerrno(codes[1]),
      ncmpi_strerrno(codes[2]));
  whole("out.nc", NC_CLOBBER);
  show("out.nc");
}
static void many_files(void) {
  enum { most = 150 };
  struct file files[most];
  char path[20];
  int n, code = 0;
  for (n = 0; n < most; ++n) {
    snprintf(path, sizeof path, "%d.nc", n);
    code |= ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &files[n].id);
    code |= ncmpi_def_var(files[n].id, "v", NC_INT, 0, NULL, &files[n].fixed);
    code |= ncmpi_enddef(files[n].id);
  }
  for (n = 0; n < most; ++n) code |= ncmpi_put_var_int_all(files[n].id, files[n].fixed, &n);
  for (n = most; n-- > 0;) code |= ncmpi_close(files[n].id);
  told("all", code);
  show("149.nc");
}

/* -- limits */

static void limited(int handled) {
  struct rlimit before, low;
  struct sigaction action, was;
  struct file file;
  memset(&action, 0, sizeof action);
  action.sa_handler = handled ? count_signal : SIG_IGN;
  sigaction(SIGXFSZ, &action, &was);
  signals = 0;
  if (make(&file, "out.nc", NC_CLOBBER)) return;
  put(&file, 0);
  TRY(ncmpi_sync(file.id));
  getrlimit(RLIMIT_FSIZE, &before);
  low = before, low.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &low);
  {
    double values[4] = {1, 2, 3, 4};
    const MPI_Offset start[] = {300, 4 * rank}, count[] = {1, 4};
    const int put_code = ncmpi_put_vara_double_all(file.id, file.record, start, count, values);
    const int sync_code = ncmpi_sync(file.id), close_code = ncmpi_close(file.id);
    setrlimit(RLIMIT_FSIZE, &before);
    say("too large: %s", put_code || sync_code || close_code ? "an error" : "no error");
  }
  sigaction(SIGXFSZ, &was, NULL);
  whole("new.nc", NC_CLOBBER);
  show("new.nc");
}
static void size_limited(void) { limited(0); }
static void size_signalled(void) { limited(1); }
static void device_full(void) { /* a file system of 256 KiB, where that may be made */
  struct file file;
  int mounted = 0;
  if (rank == 0)
    mkdir("small", 0777), mounted = mount("tmpfs", "small", "tmpfs", 0, "size=256k") == 0;
  MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!mounted) return;
  if (make(&file, "small/out.nc", NC_CLOBBER) == 0) {
    int at, code = 0;
    const MPI_Offset wide = 4 * (MPI_Offset)size;
    double* const values = calloc((size_t)wide, sizeof(double));
    put(&file, 0), TRY(ncmpi_sync(file.id));
    for (at = 0; at < 64 && !code; ++at) {
      const MPI_Offset start[] = {3 + 400 * at, 4 * rank}, count[] = {400, 4};
      double* const many = calloc(1600, sizeof(double));
      int n;
      for (n = 0; n < 1600; ++n) many[n] = (n * 7919 + at) % 1009 + 1.0 / (n + at + 1);
      code = ncmpi_put_vara_double_all(file.id, file.record, start, count, many);
      if (!code) code = ncmpi_sync(file.id);
      free(many);
    }
    say("full: %s", code ? ncmpi_strerrno(code) : "no error");
    ncmpi_close(file.id);
    free(values);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  whole("small/new.nc", NC_CLOBBER);
  ALONE(system("rm -rf small/*"));
  whole("small/new.nc", NC_CLOBBER);
  show("small/new.nc");
  ALONE(RUN(umount2("small", MNT_DETACH)));
}
static void made_read_only(void) {
  struct file file;
  int mounted = 0;
  if (rank == 0)
    mkdir("small", 0777), mounted = mount("tmpfs", "small", "tmpfs", 0, "size=4m") == 0;
  MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!mounted) return;
  whole("small/out.nc", NC_CLOBBER);
  ALONE(RUN(mount("tmpfs", "small", "tmpfs", MS_REMOUNT | MS_RDONLY, NULL)));
  if (reopen(&file, "small/out.nc", NC_NOWRITE) == 0) get(&file), done(&file);
  if (reopen(&file, "small/out.nc", NC_WRITE) == 0) done(&file);
  whole("small/out.nc", NC_CLOBBER), whole("small/out.nc", NC_NOCLOBBER),
      whole("small/new.nc", NC_CLOBBER);
  whole("small/new.nc", NC_NOCLOBBER);
  if (rank == 0) say("delete: %s", ncmpi_strerrno(ncmpi_delete("small/out.nc", MPI_INFO_NULL)));
  show("small/out.nc");
  ALONE(RUN(umount2("small", MNT_DETACH)));
}
static void as_nobody(void) { /* without root's rights */
  struct file file;
  whole("mine.nc", NC_CLOBBER);
  ALONE({
    mkdir("closed", 0777);
    scribble("closed/file.nc", 10);
    RUN(chmod("mine.nc", 0444)), RUN(chmod("closed/file.nc", 0666)), RUN(chmod("closed", 0555)),
        RUN(chmod(".", 0777));
  });
  if (geteuid() == 0) {
    if (seteuid(65534) != 0) return;
  }
  if (reopen(&file, "mine.nc", NC_NOWRITE) == 0) get(&file), done(&file);
  if (reopen(&file, "mine.nc", NC_WRITE) == 0) done(&file);
  whole("mine.nc", NC_CLOBBER), whole("mine.nc", NC_NOCLOBBER);
  whole("closed/new.nc", NC_CLOBBER), whole("closed/new.nc", NC_NOCLOBBER);
  whole("closed/file.nc", NC_CLOBBER);
  kind("closed/file.nc");
  if (rank == 0) say("delete: %s", ncmpi_strerrno(ncmpi_delete("closed/file.nc", MPI_INFO_NULL)));
  if (seteuid(getuid()) != 0) say("still nobody");
  kind("closed/file.nc"), kind("closed/new.nc"), show("mine.nc");
}
static void memory_limited(void) {
  struct rlimit before, low;
  getrlimit(RLIMIT_CORE, &before);
  low = before, low.rlim_cur = 0;
  setrlimit(RLIMIT_CORE, &low);
  getrlimit(RLIMIT_STACK, &before);
  low = before, low.rlim_cur = 256 << 10;
  setrlimit(RLIMIT_STACK, &low);
  whole("out.nc", NC_CLOBBER);
  setrlimit(RLIMIT_STACK, &before);
  show("out.nc");
}

const struct program process_programs[] = {{"child_gone", child_gone},
                                           {"child_text", child_text},
                                           {"child_exec", child_exec},
                                           {"child_exit", child_exit},
                                           {"child_closes", child_closes},
                                           {"child_outlives", child_outlives},
                                           {"shell_meanwhile", shell_meanwhile},
                                           {"child_pending", child_pending},
                                           {"other_thread", other_thread},
                                           {"closed_by_thread", closed_by_thread},
                                           {"working_thread", working_thread},
                                           {"alarm_interrupts", alarm_interrupts},
                                           {"alarm_restarts", alarm_restarts},
                                           {"large_interrupted", large_interrupted},
                                           {"dispositions", dispositions},
                                           {"all_blocked", all_blocked},
                                           {"environment", environment},
                                           {"environment_cleared", environment_cleared},
                                           {"locales", locales},
                                           {"stdin_closed", stdin_closed},
                                           {"all_three_closed", all_three_closed},
                                           {"stdout_reopened", stdout_reopened},
                                           {"few_descriptors", few_descriptors},
                                           {"many_files", many_files},
                                           {"size_limited", size_limited},
                                           {"size_signalled", size_signalled},
                                           {"device_full", device_full},
                                           {"made_read_only", made_read_only},
                                           {"as_nobody", as_nobody},
                                           {"memory_limited", memory_limited},
                                           {NULL, NULL}};
