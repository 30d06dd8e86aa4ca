// <c10/util/Float8_e5m2fnuz-inl.h>: PyTorch moved what it declares to <torch/headeronly/util/Float8_e5m2fnuz.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E5M2FNUZ_INL_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E5M2FNUZ_INL_H

#include <torch/headeronly/util/Float8_e5m2fnuz.h>

#endif
