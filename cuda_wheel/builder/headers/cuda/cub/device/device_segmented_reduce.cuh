// <cub/device/device_segmented_reduce.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_SEGMENTED_REDUCE
#define CUDA_WHEEL_CUB_SEGMENTED_REDUCE

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceSegmentedReduce {
  CUDA_WHEEL_LAUNCHER(Reduce)
  CUDA_WHEEL_LAUNCHER(Sum)
  CUDA_WHEEL_LAUNCHER(Min)
  CUDA_WHEEL_LAUNCHER(Max)
  CUDA_WHEEL_LAUNCHER(ArgMin)
  CUDA_WHEEL_LAUNCHER(ArgMax)
};

CUB_NAMESPACE_END

#endif
