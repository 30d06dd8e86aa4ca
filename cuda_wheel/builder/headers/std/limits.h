// <limits.h> for NVRTC: the ranges of the integer types (NVRTC has no C library).
#ifndef CUDA_WHEEL_LIMITS_H
#define CUDA_WHEEL_LIMITS_H

#include "cuda_wheel_detail/limits_macros.h"

static_assert(sizeof(long) == (LONG_MAX == INT_MAX ? 4 : 8), "limits.h does not know this platform's long");

#endif
