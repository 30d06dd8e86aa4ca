// <c10/util/Float8_e5m2.h>: PyTorch moved what it declares to <torch/headeronly/util/Float8_e5m2.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E5M2_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E5M2_H

#include <torch/headeronly/util/Float8_e5m2.h>

#endif
