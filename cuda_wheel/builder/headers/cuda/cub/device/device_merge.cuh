// <cub/device/device_merge.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_MERGE
#define CUDA_WHEEL_CUB_MERGE

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceMerge {
  CUDA_WHEEL_LAUNCHER(MergeKeys)
  CUDA_WHEEL_LAUNCHER(MergePairs)
};

CUB_NAMESPACE_END

#endif
