// <c10/util/quint2x4.h>: PyTorch moved what it declares to <torch/headeronly/util/quint2x4.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_QUINT2X4_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_QUINT2X4_H

#include <torch/headeronly/util/quint2x4.h>

#endif
