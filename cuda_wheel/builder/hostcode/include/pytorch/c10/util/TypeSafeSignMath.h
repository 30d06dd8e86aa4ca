// <c10/util/TypeSafeSignMath.h>: PyTorch moved what it declares to <torch/headeronly/util/TypeSafeSignMath.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_TYPESAFESIGNMATH_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_TYPESAFESIGNMATH_H

#include <torch/headeronly/util/TypeSafeSignMath.h>

#endif
