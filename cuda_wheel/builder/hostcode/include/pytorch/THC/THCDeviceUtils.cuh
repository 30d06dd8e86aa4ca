// <THC/THCDeviceUtils.cuh> of PyTorch before 1.11: THCCeilDiv, and what is now in <ATen/cuda/DeviceUtils.cuh>.
#ifndef CUDA_WHEEL_PYTORCH_THC_DEVICE_UTILS_CUH
#define CUDA_WHEEL_PYTORCH_THC_DEVICE_UTILS_CUH

#include <ATen/cuda/DeviceUtils.cuh>

template <typename T>
__host__ __device__ __forceinline__ T THCCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}
template <typename T>
__host__ __device__ __forceinline__ T THCRoundUp(T a, T b) {
  return THCCeilDiv(a, b) * b;
}
__device__ __forceinline__ int WARP_ANY(int predicate, unsigned int mask = 0xffffffff) {
  return __any_sync(mask, predicate);
}

#endif
