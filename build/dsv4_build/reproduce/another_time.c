/* Shows programs a wall clock that is ANOTHER_TIME seconds ahead, through LD_PRELOAD.

   It has no state and takes no lock: libfaketime shares a semaphore between processes, and a
   compiler that waited for it never ended. Times of files are the kernel's and stay real. */

#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead(void) {
  const char *text = getenv("ANOTHER_TIME");
  return text == NULL ? 0 : (time_t)atoll(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int status = (int)syscall(SYS_clock_gettime, clock, now);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += ahead();
  }
  return status;
}

time_t time(time_t *result) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != NULL) {
    *result = now.tv_sec;
  }
  return now.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise = {0, 0};
  int status = clock_gettime(CLOCK_REALTIME, &precise);
  (void)zone;
  if (now != NULL) {
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
  }
  return status;
}
