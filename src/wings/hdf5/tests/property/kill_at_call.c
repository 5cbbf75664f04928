/* Preloaded: kills the process at one of its calls that change FILE or what lies beside it under a
 * longer name, so that a test can go through all of them.
 *
 *   FOREBAY_TEST_KILL_AT=N      at the Nth, counted from when the program sets
 * FOREBAY_TEST_KILL_COUNTS FOREBAY_TEST_KILL_RANK=R    in the process that is rank R of its job
 *   FOREBAY_TEST_KILL_FILE      FILE's absolute path
 *   FOREBAY_TEST_KILL_TELL      a process that comes to its end writes "RANK CALLS" to this file
 *
 * A write that is killed has done its first half if N is even, and nothing if it is odd.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int concerns_path(const char* path) {
  const char* const wanted = getenv("FOREBAY_TEST_KILL_FILE");
  return wanted != NULL && strncmp(path, wanted, strlen(wanted)) == 0;
}

static int concerns(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = '\0';
  return concerns_path(path);
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static long calls = 0;

__attribute__((destructor)) static void tell(void) {
  const char *const path = getenv("FOREBAY_TEST_KILL_TELL"), *const rank =
                                                                 getenv("OMPI_COMM_WORLD_RANK");
  FILE* const file = path != NULL && calls > 0 ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  fprintf(file, "%s %ld\n", rank != NULL ? rank : "0", calls);
  fclose(file);
}

/* Whether this call is the one. */
static int is_last(void) {
  const char* const at = getenv("FOREBAY_TEST_KILL_AT");
  const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
  const char* const victim = getenv("FOREBAY_TEST_KILL_RANK");
  if (getenv("FOREBAY_TEST_KILL_COUNTS") == NULL || at == NULL) return 0;
  if (rank != NULL && victim != NULL && strcmp(rank, victim) != 0) return 0;
  return __sync_add_and_fetch(&calls, 1) == strtol(at, NULL, 10);
}

static int half(void) { return strtol(getenv("FOREBAY_TEST_KILL_AT"), NULL, 10) % 2 == 0; }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void* buffer, size_t n) {
  if (getenv("FOREBAY_TEST_KILL_COUNTS") != NULL && concerns(fd) && is_last()) {
    if (half()) NEXT(write)(fd, buffer, n / 2);
    die();
  }
  return NEXT(write)(fd, buffer, n);
}

ssize_t pwrite(int fd, const void* buffer, size_t n, off_t at) {
  if (concerns(fd) && is_last()) {
    if (half()) NEXT(pwrite)(fd, buffer, n / 2, at);
    die();
  }
  return NEXT(pwrite)(fd, buffer, n, at);
}

ssize_t pwrite64(int fd, const void* buffer, size_t n, off64_t at) {
  if (concerns(fd) && is_last()) {
    if (half()) NEXT(pwrite64)(fd, buffer, n / 2, at);
    die();
  }
  return NEXT(pwrite64)(fd, buffer, n, at);
}

ssize_t pwritev(int fd, const struct iovec* pieces, int n, off_t at) {
  if (concerns(fd) && is_last()) {
    if (half()) NEXT(pwritev)(fd, pieces, 1, at);
    die();
  }
  return NEXT(pwritev)(fd, pieces, n, at);
}

int ftruncate(int fd, off_t size) {
  if (concerns(fd) && is_last()) die();
  return NEXT(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size) {
  if (concerns(fd) && is_last()) die();
  return NEXT(ftruncate64)(fd, size);
}

int unlink(const char* path) {
  if (concerns_path(path) && is_last()) die();
  return NEXT(unlink)(path);
}
