/* Loaded ahead of the C library into the ranks of tests: what MPI does while it waits becomes what
 * Forebay does (comm/yield_or_sleep.h). Tests run side by side, and a yield of a rank beside one
 * that computes costs it a time slice: thousands of small messages took a minute instead of a
 * second.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread int crowded;

int sched_yield(void) {
  struct timespec before, after;
  if (crowded > 0) {
    const struct timespec a_moment = {0, 20000};
    --crowded;
    nanosleep(&a_moment, NULL);
    return 0;
  }
  clock_gettime(CLOCK_MONOTONIC, &before);
  const long code = syscall(SYS_sched_yield);
  clock_gettime(CLOCK_MONOTONIC, &after);
  if ((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec > 300000)
    crowded = 200;
  return (int)code;
}
