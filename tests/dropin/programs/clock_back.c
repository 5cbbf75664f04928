/* Preloaded: the clock of the day goes back, by a second whenever it is asked. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int asked;

static time_t back(time_t now) { return now - __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED); }

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int code = (int)syscall(SYS_clock_gettime, clock, now);
  if (code == 0 && clock == CLOCK_REALTIME) now->tv_sec = back(now->tv_sec);
  return code;
}

int gettimeofday(struct timeval* now, void* zone) {
  struct timespec time;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec, now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  if (now) *now = time.tv_sec;
  return time.tv_sec;
}
