// <c10/util/Float8_e8m0fnu-inl.h>: PyTorch moved what it declares to <torch/headeronly/util/Float8_e8m0fnu.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E8M0FNU_INL_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E8M0FNU_INL_H

#include <torch/headeronly/util/Float8_e8m0fnu.h>

#endif
