// <c10/util/BFloat16.h>: PyTorch moved what it declares to <torch/headeronly/util/BFloat16.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_BFLOAT16_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_BFLOAT16_H

#include <torch/headeronly/util/BFloat16.h>

#endif
