// at::native::device_sqrt: std::sqrt, with a double as its result.
#ifndef CUDA_WHEEL_PYTORCH_DEVICE_SQRT_CUH
#define CUDA_WHEEL_PYTORCH_DEVICE_SQRT_CUH

#include <cmath>

namespace at {
namespace native {

template <typename scalar_t>
__forceinline__ __device__ double device_sqrt(scalar_t value) {
  return std::sqrt(value);
}

}
}

#endif
