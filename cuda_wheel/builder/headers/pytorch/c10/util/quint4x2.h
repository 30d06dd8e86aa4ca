// <c10/util/quint4x2.h>: PyTorch moved what it declares to <torch/headeronly/util/quint4x2.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_QUINT4X2_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_QUINT4X2_H

#include <torch/headeronly/util/quint4x2.h>

#endif
