// <cub/device/device_histogram.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_HISTOGRAM
#define CUDA_WHEEL_CUB_HISTOGRAM

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceHistogram {
  CUDA_WHEEL_LAUNCHER(HistogramEven)
  CUDA_WHEEL_LAUNCHER(HistogramRange)
  CUDA_WHEEL_LAUNCHER(MultiHistogramEven)
  CUDA_WHEEL_LAUNCHER(MultiHistogramRange)
};

CUB_NAMESPACE_END

#endif
