// at::numeric_limits: std::numeric_limits, and the bounds with infinities where a type has them.
#ifndef CUDA_WHEEL_PYTORCH_NUMERIC_LIMITS_CUH
#define CUDA_WHEEL_PYTORCH_NUMERIC_LIMITS_CUH

#include <limits>

namespace at {

template <typename T>
struct numeric_limits {
  static inline __host__ __device__ T lowest() { return std::numeric_limits<T>::lowest(); }
  static inline __host__ __device__ T max() { return std::numeric_limits<T>::max(); }
  static inline __host__ __device__ T lower_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity) {
      return -std::numeric_limits<T>::infinity();
    } else {
      return std::numeric_limits<T>::lowest();
    }
  }
  static inline __host__ __device__ T upper_bound() {
    if constexpr (std::numeric_limits<T>::has_infinity) {
      return std::numeric_limits<T>::infinity();
    } else {
      return std::numeric_limits<T>::max();
    }
  }
};

}

#endif
