// <cub/device/device_segmented_sort.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_SEGMENTED_SORT
#define CUDA_WHEEL_CUB_SEGMENTED_SORT

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceSegmentedSort {
  CUDA_WHEEL_LAUNCHER(SortPairs)
  CUDA_WHEEL_LAUNCHER(SortPairsDescending)
  CUDA_WHEEL_LAUNCHER(SortKeys)
  CUDA_WHEEL_LAUNCHER(SortKeysDescending)
  CUDA_WHEEL_LAUNCHER(StableSortPairs)
  CUDA_WHEEL_LAUNCHER(StableSortPairsDescending)
  CUDA_WHEEL_LAUNCHER(StableSortKeys)
  CUDA_WHEEL_LAUNCHER(StableSortKeysDescending)
};

CUB_NAMESPACE_END

#endif
