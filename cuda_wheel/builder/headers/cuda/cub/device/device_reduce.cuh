// <cub/device/device_reduce.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_REDUCE
#define CUDA_WHEEL_CUB_REDUCE

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceReduce {
  CUDA_WHEEL_LAUNCHER(Reduce)
  CUDA_WHEEL_LAUNCHER(Sum)
  CUDA_WHEEL_LAUNCHER(Min)
  CUDA_WHEEL_LAUNCHER(Max)
  CUDA_WHEEL_LAUNCHER(ArgMin)
  CUDA_WHEEL_LAUNCHER(ArgMax)
  CUDA_WHEEL_LAUNCHER(TransformReduce)
  CUDA_WHEEL_LAUNCHER(ReduceByKey)
};

CUB_NAMESPACE_END

#endif
