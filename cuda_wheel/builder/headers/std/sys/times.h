// <sys/times.h> for host code: the times of processes.
#ifndef CUDA_WHEEL_SYS_TIMES_H
#define CUDA_WHEEL_SYS_TIMES_H

#include <time.h>

struct tms {
  clock_t tms_utime, tms_stime, tms_cutime, tms_cstime;
};

extern "C" {
clock_t times(tms*);
}

#endif
