// <cub/device/device_radix_sort.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_RADIX_SORT
#define CUDA_WHEEL_CUB_RADIX_SORT

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceRadixSort {
  CUDA_WHEEL_LAUNCHER(SortPairs)
  CUDA_WHEEL_LAUNCHER(SortPairsDescending)
  CUDA_WHEEL_LAUNCHER(SortKeys)
  CUDA_WHEEL_LAUNCHER(SortKeysDescending)
};

CUB_NAMESPACE_END

#endif
