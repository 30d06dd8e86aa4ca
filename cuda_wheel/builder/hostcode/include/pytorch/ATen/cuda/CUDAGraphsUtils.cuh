// at::cuda::philox::unpack and the state of a generator, as device code of graphs needs them.
#ifndef CUDA_WHEEL_PYTORCH_CUDA_GRAPHS_UTILS_CUH
#define CUDA_WHEEL_PYTORCH_CUDA_GRAPHS_UTILS_CUH

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/PhiloxUtils.cuh>
#include <c10/cuda/CUDAGuard.h>

#endif
