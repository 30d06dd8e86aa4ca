// <cub/device/device_transform.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_TRANSFORM
#define CUDA_WHEEL_CUB_TRANSFORM

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceTransform {
  CUDA_WHEEL_LAUNCHER(Transform)
  CUDA_WHEEL_LAUNCHER(TransformIf)
  CUDA_WHEEL_LAUNCHER(TransformStableArgumentAddresses)
  CUDA_WHEEL_LAUNCHER(Fill)
  CUDA_WHEEL_LAUNCHER(Generate)
};

CUB_NAMESPACE_END

#endif
