// <cub/device/device_topk.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_TOPK
#define CUDA_WHEEL_CUB_TOPK

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceTopK {
  CUDA_WHEEL_LAUNCHER(MaxKeys)
  CUDA_WHEEL_LAUNCHER(MaxPairs)
  CUDA_WHEEL_LAUNCHER(MinKeys)
  CUDA_WHEEL_LAUNCHER(MinPairs)
};

CUB_NAMESPACE_END

#endif
