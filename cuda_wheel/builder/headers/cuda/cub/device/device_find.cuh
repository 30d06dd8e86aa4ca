// <cub/device/device_find.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_FIND
#define CUDA_WHEEL_CUB_FIND

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceFind {
  CUDA_WHEEL_LAUNCHER(FindIf)
  CUDA_WHEEL_LAUNCHER(LowerBound)
  CUDA_WHEEL_LAUNCHER(UpperBound)
};

CUB_NAMESPACE_END

#endif
