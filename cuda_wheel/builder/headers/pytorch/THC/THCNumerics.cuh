// <THC/THCNumerics.cuh> of PyTorch before 1.11: THCNumerics, comparisons and arithmetic of the element types.
#ifndef CUDA_WHEEL_PYTORCH_THC_NUMERICS_CUH
#define CUDA_WHEEL_PYTORCH_THC_NUMERICS_CUH

#include <ATen/NumericUtils.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <limits>

template <typename T>
struct THCNumerics {
  typedef std::numeric_limits<T> Limits;
  static inline __host__ __device__ T min() { return Limits::lowest(); }
  static inline __host__ __device__ T max() { return Limits::max(); }
  static inline __host__ __device__ T lower_bound() { return Limits::has_infinity ? T(-Limits::infinity()) : min(); }
  static inline __host__ __device__ T upper_bound() { return Limits::has_infinity ? Limits::infinity() : max(); }
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
