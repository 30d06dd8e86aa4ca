// <c10/util/floating_point_utils.h>: PyTorch moved what it declares to <torch/headeronly/util/floating_point_utils.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_FLOATING_POINT_UTILS_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_FLOATING_POINT_UTILS_H

#include <torch/headeronly/util/floating_point_utils.h>

#endif
