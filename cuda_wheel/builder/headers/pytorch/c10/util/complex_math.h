// <c10/util/complex_math.h>: a part of <c10/util/complex.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_COMPLEX_MATH_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_COMPLEX_MATH_H

#include <c10/util/complex.h>

#endif
