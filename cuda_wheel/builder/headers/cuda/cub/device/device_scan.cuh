// <cub/device/device_scan.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_SCAN
#define CUDA_WHEEL_CUB_SCAN

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceScan {
  CUDA_WHEEL_LAUNCHER(ExclusiveSum)
  CUDA_WHEEL_LAUNCHER(InclusiveSum)
  CUDA_WHEEL_LAUNCHER(ExclusiveScan)
  CUDA_WHEEL_LAUNCHER(InclusiveScan)
  CUDA_WHEEL_LAUNCHER(InclusiveScanInit)
  CUDA_WHEEL_LAUNCHER(ExclusiveSumByKey)
  CUDA_WHEEL_LAUNCHER(InclusiveSumByKey)
  CUDA_WHEEL_LAUNCHER(ExclusiveScanByKey)
  CUDA_WHEEL_LAUNCHER(InclusiveScanByKey)
};

CUB_NAMESPACE_END

#endif
