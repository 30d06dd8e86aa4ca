// <cub/device/device_memcpy.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_MEMCPY
#define CUDA_WHEEL_CUB_MEMCPY

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceMemcpy {
  CUDA_WHEEL_LAUNCHER(Batched)
};

CUB_NAMESPACE_END

#endif
