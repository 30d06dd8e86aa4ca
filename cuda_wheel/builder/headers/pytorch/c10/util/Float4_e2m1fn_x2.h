// <c10/util/Float4_e2m1fn_x2.h>: PyTorch moved what it declares to <torch/headeronly/util/Float4_e2m1fn_x2.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT4_E2M1FN_X2_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT4_E2M1FN_X2_H

#include <torch/headeronly/util/Float4_e2m1fn_x2.h>

#endif
