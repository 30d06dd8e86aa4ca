// <c10/util/complex_utils.h>: a part of <c10/util/complex.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_COMPLEX_UTILS_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_COMPLEX_UTILS_H

#include <c10/util/complex.h>

#endif
