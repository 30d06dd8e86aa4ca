// <cub/device/device_run_length_encode.cuh>: the functions that launch CUB's own kernels. Those kernels are not in the image.
#ifndef CUDA_WHEEL_CUB_RUN_LENGTH_ENCODE
#define CUDA_WHEEL_CUB_RUN_LENGTH_ENCODE

#include <cub/device/cuda_wheel_launcher.h>

CUB_NAMESPACE_BEGIN

struct DeviceRunLengthEncode {
  CUDA_WHEEL_LAUNCHER(Encode)
  CUDA_WHEEL_LAUNCHER(NonTrivialRuns)
};

CUB_NAMESPACE_END

#endif
