// <c10/util/bits.h>: PyTorch moved what it declares to <torch/headeronly/util/bits.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_BITS_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_BITS_H

#include <torch/headeronly/util/bits.h>

#endif
