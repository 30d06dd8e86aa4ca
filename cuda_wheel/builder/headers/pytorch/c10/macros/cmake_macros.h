// <c10/macros/cmake_macros.h>: PyTorch moved what it declares to <torch/headeronly/macros/cmake_macros.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_MACROS_CMAKE_MACROS_H
#define CUDA_WHEEL_PYTORCH_C10_MACROS_CMAKE_MACROS_H

#include <torch/headeronly/macros/cmake_macros.h>

#endif
