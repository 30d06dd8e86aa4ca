// <cub/device/device_copy.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_COPY
#define CUDA_WHEEL_CUB_COPY

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceCopy {
  CUDA_WHEEL_LAUNCHER(Batched)
  CUDA_WHEEL_LAUNCHER(Copy)
};

CUB_NAMESPACE_END

#endif
