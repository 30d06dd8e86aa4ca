// Macros for the functions of the standard library's headers.
#ifndef CUDA_WHEEL_DETAIL_FUNCTIONS_H
#define CUDA_WHEEL_DETAIL_FUNCTIONS_H

// A function that is constexpr in the standard library: nvcc lets device code call it (--expt-relaxed-constexpr).
#define CUDA_WHEEL_CONSTEXPR __host__ __device__ constexpr

#if __cplusplus >= 202002L
#define CUDA_WHEEL_CONSTEXPR20 __host__ __device__ constexpr
#else
#define CUDA_WHEEL_CONSTEXPR20 __host__ __device__ inline
#endif

// A constant of class type that device code uses by reference, and a tag of host code, which is not const so that it
// is not in the image.
#if __cplusplus >= 201703L
#define CUDA_WHEEL_HOST_VARIABLE inline
#define CUDA_WHEEL_CONSTANT inline constexpr __device__
#else
#define CUDA_WHEEL_HOST_VARIABLE static
#define CUDA_WHEEL_CONSTANT static constexpr __device__
#endif

namespace cuda_wheel_detail {
// Where the standard library throws: device code stops, and a constant expression is none.
template <class Condition> CUDA_WHEEL_CONSTEXPR void check(Condition holds) {
  if (!holds) __trap();
}
}

#endif
