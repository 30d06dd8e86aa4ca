// <cub/device/device_segmented_scan.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_SEGMENTED_SCAN
#define CUDA_WHEEL_CUB_SEGMENTED_SCAN

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceSegmentedScan {
  CUDA_WHEEL_LAUNCHER(ExclusiveSegmentedSum)
  CUDA_WHEEL_LAUNCHER(InclusiveSegmentedSum)
  CUDA_WHEEL_LAUNCHER(ExclusiveSegmentedScan)
  CUDA_WHEEL_LAUNCHER(InclusiveSegmentedScan)
  CUDA_WHEEL_LAUNCHER(InclusiveSegmentedScanInit)
};

CUB_NAMESPACE_END

#endif
