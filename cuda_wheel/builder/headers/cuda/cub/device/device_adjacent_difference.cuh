// <cub/device/device_adjacent_difference.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_ADJACENT_DIFFERENCE
#define CUDA_WHEEL_CUB_ADJACENT_DIFFERENCE

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceAdjacentDifference {
  CUDA_WHEEL_LAUNCHER(SubtractLeftCopy)
  CUDA_WHEEL_LAUNCHER(SubtractLeft)
  CUDA_WHEEL_LAUNCHER(SubtractRightCopy)
  CUDA_WHEEL_LAUNCHER(SubtractRight)
};

CUB_NAMESPACE_END

#endif
