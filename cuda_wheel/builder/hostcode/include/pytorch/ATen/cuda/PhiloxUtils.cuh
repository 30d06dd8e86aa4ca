// <ATen/cuda/PhiloxUtils.cuh>: PyTorch has what it declares in <ATen/cuda/detail/UnpackRaw.cuh>.
#ifndef CUDA_WHEEL_PYTORCH_ATEN_CUDA_PHILOXUTILS_CUH
#define CUDA_WHEEL_PYTORCH_ATEN_CUDA_PHILOXUTILS_CUH

#include <ATen/cuda/detail/UnpackRaw.cuh>

#endif
