// <c10/macros/Macros.h>: PyTorch moved what it declares to <torch/headeronly/macros/Macros.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_MACROS_MACROS_H
#define CUDA_WHEEL_PYTORCH_C10_MACROS_MACROS_H

#include <torch/headeronly/macros/Macros.h>

#endif
