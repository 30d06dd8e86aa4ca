// <THC/THCAtomics.cuh> of PyTorch before 1.11: what is now in <ATen/cuda/Atomic.cuh>.
#ifndef CUDA_WHEEL_PYTORCH_THC_ATOMICS_CUH
#define CUDA_WHEEL_PYTORCH_THC_ATOMICS_CUH

#include <ATen/cuda/Atomic.cuh>

#endif
