// <THC/THCNumerics.cuh> of PyTorch before 1.11: THCNumerics, comparisons and arithmetic of the element types.
#ifndef CUDA_WHEEL_PYTORCH_THC_NUMERICS_CUH
#define CUDA_WHEEL_PYTORCH_THC_NUMERICS_CUH

#include <ATen/NumericUtils.h>
#include <ATen/cuda/NumericLimits.cuh>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

template <typename T>
struct THCNumerics {
  static inline __host__ __device__ T min() { return at::numeric_limits<T>::lowest(); }
  static inline __host__ __device__ T max() { return at::numeric_limits<T>::max(); }
  static inline __host__ __device__ T lower_bound() { return at::numeric_limits<T>::lower_bound(); }
  static inline __host__ __device__ T upper_bound() { return at::numeric_limits<T>::upper_bound(); }
  static inline __host__ __device__ bool lt(T a, T b) { return a < b; }
  static inline __host__ __device__ bool le(T a, T b) { return a <= b; }
  static inline __host__ __device__ bool gt(T a, T b) { return a > b; }
  static inline __host__ __device__ bool ge(T a, T b) { return a >= b; }
  static inline __host__ __device__ bool eq(T a, T b) { return a == b; }
  static inline __host__ __device__ bool ne(T a, T b) { return a != b; }
  static inline __host__ __device__ T add(T a, T b) { return a + b; }
  static inline __host__ __device__ T sub(T a, T b) { return a - b; }
  static inline __host__ __device__ T mul(T a, T b) { return a * b; }
  static inline __host__ __device__ T div(T a, T b) { return a / b; }
  static inline __host__ __device__ bool isnan(T a) { return at::_isnan(a); }
};

#endif
