// All of PyTorch's floating-point types of 16 and 8 bits, and complex numbers.
#ifndef CUDA_WHEEL_PYTORCH_REDUCED_FLOATS_H
#define CUDA_WHEEL_PYTORCH_REDUCED_FLOATS_H

#include <c10/util/complex.h>
#include <torch/headeronly/util/BFloat16.h>
#include <cuda_wheel_detail/pytorch/float8.h>
#include <torch/headeronly/util/Half.h>

#endif
