// <c10/util/Metaprogramming.h>: PyTorch moved what it declares to <torch/headeronly/util/Metaprogramming.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_UTIL_METAPROGRAMMING_H
#define CUDA_WHEEL_PYTORCH_C10_UTIL_METAPROGRAMMING_H

#include <torch/headeronly/util/Metaprogramming.h>

#endif
