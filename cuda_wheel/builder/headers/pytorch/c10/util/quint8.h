// <c10/util/quint8.h>: PyTorch moved what it declares to <torch/headeronly/util/quint8.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_QUINT8_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_QUINT8_H

#include <torch/headeronly/util/quint8.h>

#endif
