// <c10/util/Float8_e4m3fnuz.h>: PyTorch moved what it declares to <torch/headeronly/util/Float8_e4m3fnuz.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E4M3FNUZ_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_FLOAT8_E4M3FNUZ_H

#include <torch/headeronly/util/Float8_e4m3fnuz.h>

#endif
