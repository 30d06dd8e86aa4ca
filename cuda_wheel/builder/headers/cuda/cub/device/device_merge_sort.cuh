// <cub/device/device_merge_sort.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_MERGE_SORT
#define CUDA_WHEEL_CUB_MERGE_SORT

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceMergeSort {
  CUDA_WHEEL_LAUNCHER(SortPairs)
  CUDA_WHEEL_LAUNCHER(SortPairsCopy)
  CUDA_WHEEL_LAUNCHER(SortKeys)
  CUDA_WHEEL_LAUNCHER(SortKeysCopy)
  CUDA_WHEEL_LAUNCHER(StableSortPairs)
  CUDA_WHEEL_LAUNCHER(StableSortKeys)
  CUDA_WHEEL_LAUNCHER(StableSortKeysCopy)
};

CUB_NAMESPACE_END

#endif
