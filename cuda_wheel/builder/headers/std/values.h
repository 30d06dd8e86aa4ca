// <values.h> for host code: limits of types.
#ifndef CUDA_WHEEL_VALUES_H
#define CUDA_WHEEL_VALUES_H

#include <float.h>
#include <limits.h>

#define MAXINT INT_MAX
#define MININT INT_MIN
#define MAXFLOAT FLT_MAX
#define MAXDOUBLE DBL_MAX

#endif
