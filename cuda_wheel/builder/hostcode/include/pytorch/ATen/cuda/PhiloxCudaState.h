// <ATen/cuda/PhiloxCudaState.h>: PyTorch has what it declares in <ATen/cuda/detail/PhiloxCudaStateRaw.cuh>.
#ifndef CUDA_WHEEL_PYTORCH_ATEN_CUDA_PHILOXCUDASTATE_H
#define CUDA_WHEEL_PYTORCH_ATEN_CUDA_PHILOXCUDASTATE_H

#include <ATen/cuda/detail/PhiloxCudaStateRaw.cuh>

#endif
