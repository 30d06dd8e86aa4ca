// <c10/util/bit_cast.h>: PyTorch moved what it declares to <torch/headeronly/util/bit_cast.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_BIT_CAST_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_BIT_CAST_H

#include <torch/headeronly/util/bit_cast.h>

#endif
