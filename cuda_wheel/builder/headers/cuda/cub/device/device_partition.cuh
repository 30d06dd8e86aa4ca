// <cub/device/device_partition.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_PARTITION
#define CUDA_WHEEL_CUB_PARTITION

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DevicePartition {
  CUDA_WHEEL_LAUNCHER(Flagged)
  CUDA_WHEEL_LAUNCHER(If)
};

CUB_NAMESPACE_END

#endif
