// <float.h> for NVRTC: the ranges of the floating-point types (NVRTC has no C library).
#ifndef CUDA_WHEEL_FLOAT_H
#define CUDA_WHEEL_FLOAT_H

#include "cuda_wheel_detail/float_macros.h"

#endif
