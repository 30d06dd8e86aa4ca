// <c10/util/qint8.h>: PyTorch moved what it declares to <torch/headeronly/util/qint8.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_QINT8_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_QINT8_H

#include <torch/headeronly/util/qint8.h>

#endif
