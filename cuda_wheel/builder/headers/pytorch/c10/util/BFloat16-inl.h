// <c10/util/BFloat16-inl.h>: PyTorch moved what it declares to <torch/headeronly/util/BFloat16.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_BFLOAT16_INL_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_BFLOAT16_INL_H

#include <torch/headeronly/util/BFloat16.h>

#endif
