// <c10/util/Half-inl.h>: PyTorch moved what it declares to <torch/headeronly/util/Half.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_HALF_INL_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_HALF_INL_H

#include <torch/headeronly/util/Half.h>

#endif
