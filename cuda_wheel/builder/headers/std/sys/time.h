// <sys/time.h> for host code: the time of day.
#ifndef CUDA_WHEEL_SYS_TIME_H
#define CUDA_WHEEL_SYS_TIME_H

#include <sys/types.h>

struct timeval {
  long tv_sec;
  long tv_usec;
};

struct timezone {
  int tz_minuteswest;
  int tz_dsttime;
};

extern "C" int gettimeofday(timeval*, void*);

#endif
