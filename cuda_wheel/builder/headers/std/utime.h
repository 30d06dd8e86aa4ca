// <utime.h> for host code: the times of files.
#ifndef CUDA_WHEEL_UTIME_H
#define CUDA_WHEEL_UTIME_H

#include <time.h>

struct utimbuf {
  time_t actime, modtime;
};

extern "C" {
int utime(const char*, const utimbuf*);
}

#endif
