// <cub/device/device_spmv.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_SPMV
#define CUDA_WHEEL_CUB_SPMV

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceSpmv {
  CUDA_WHEEL_LAUNCHER(CsrMV)
};

CUB_NAMESPACE_END

#endif
