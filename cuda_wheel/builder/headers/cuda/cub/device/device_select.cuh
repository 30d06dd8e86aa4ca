// <cub/device/device_select.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_SELECT
#define CUDA_WHEEL_CUB_SELECT

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceSelect {
  CUDA_WHEEL_LAUNCHER(Flagged)
  CUDA_WHEEL_LAUNCHER(FlaggedIf)
  CUDA_WHEEL_LAUNCHER(If)
  CUDA_WHEEL_LAUNCHER(Unique)
  CUDA_WHEEL_LAUNCHER(UniqueByKey)
};

CUB_NAMESPACE_END

#endif
