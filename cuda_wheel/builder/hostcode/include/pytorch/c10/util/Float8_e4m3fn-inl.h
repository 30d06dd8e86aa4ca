// <c10/util/Float8_e4m3fn-inl.h>: PyTorch moved what it declares to <torch/headeronly/util/Float8_e4m3fn.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E4M3FN_INL_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E4M3FN_INL_H

#include <torch/headeronly/util/Float8_e4m3fn.h>

#endif
