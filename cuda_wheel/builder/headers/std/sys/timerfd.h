// <sys/timerfd.h> for host code: timers as files.
#ifndef CUDA_WHEEL_SYS_TIMERFD_H
#define CUDA_WHEEL_SYS_TIMERFD_H

#include <time.h>

extern "C" {
int timerfd_create(int, int);
}

#endif
