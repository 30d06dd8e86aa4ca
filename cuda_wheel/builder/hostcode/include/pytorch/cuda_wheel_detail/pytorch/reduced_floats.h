// All of PyTorch's floating-point types of 16 and 8 bits, and complex numbers.
#ifndef CUDA_WHEEL_PYTORCH_REDUCED_FLOATS_H
#define CUDA_WHEEL_PYTORCH_REDUCED_FLOATS_H

#include <c10/util/complex.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Float8_e4m3fn.h>
#include <torch/headeronly/util/Float8_e4m3fnuz.h>
#include <torch/headeronly/util/Float8_e5m2.h>
#include <torch/headeronly/util/Float8_e5m2fnuz.h>
#include <torch/headeronly/util/Float8_e8m0fnu.h>
#include <torch/headeronly/util/Half.h>

#endif
