// <c10/util/Half.h>: PyTorch moved what it declares to <torch/headeronly/util/Half.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_HALF_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_HALF_H

#include <torch/headeronly/util/Half.h>

#endif
