// <sys/param.h> for host code: limits, and the smaller and the larger of two values.
#ifndef CUDA_WHEEL_SYS_PARAM_H
#define CUDA_WHEEL_SYS_PARAM_H

#include <limits.h>
#include <sys/types.h>

#define MAXPATHLEN 4096
#define MIN(a, b) (((a) < (b)) ? (a) : (b))
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#define howmany(x, y) (((x) + ((y)-1)) / (y))
#define roundup(x, y) ((((x) + ((y)-1)) / (y)) * (y))

#endif
