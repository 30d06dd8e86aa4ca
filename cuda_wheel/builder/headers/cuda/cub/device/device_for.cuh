// <cub/device/device_for.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_FOR
#define CUDA_WHEEL_CUB_FOR

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceFor {
  CUDA_WHEEL_LAUNCHER(Bulk)
  CUDA_WHEEL_LAUNCHER(ForEach)
  CUDA_WHEEL_LAUNCHER(ForEachN)
  CUDA_WHEEL_LAUNCHER(ForEachCopy)
  CUDA_WHEEL_LAUNCHER(ForEachCopyN)
  CUDA_WHEEL_LAUNCHER(ForEachInExtents)
  CUDA_WHEEL_LAUNCHER(ForEachInLayout)
};

CUB_NAMESPACE_END

#endif
