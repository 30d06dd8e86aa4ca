// <c10/util/qint32.h>: PyTorch moved what it declares to <torch/headeronly/util/qint32.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_QINT32_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_QINT32_H

#include <torch/headeronly/util/qint32.h>

#endif
