// <sys/timeb.h> for host code: the time with milliseconds.
#ifndef CUDA_WHEEL_SYS_TIMEB_H
#define CUDA_WHEEL_SYS_TIMEB_H

#include <time.h>

struct timeb {
  time_t time;
  unsigned short millitm;
  short timezone, dstflag;
};

extern "C" {
int ftime(timeb*);
}

#endif
