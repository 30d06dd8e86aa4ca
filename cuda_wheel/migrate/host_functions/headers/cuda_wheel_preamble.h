/* What every source file is read after: functions of the C library for the device as well, CUDA, and PyTorch. */
#pragma once
#define __CUDACC__ 1
#define __NVCC__ 1
/* CCCL refuses headers of another release than the compiler's. */
#define __CUDACC_VER_MAJOR__ (CUDA_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDA_VERSION % 1000 / 10)
/* CUDA declares these functions again, for the host too, which clang refuses beside the C library's. */
#define __COMMON_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__
#define __MATH_FUNCTIONS_HPP__
#pragma clang force_cuda_host_device begin
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#pragma clang force_cuda_host_device end
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <math.h>
#include <stdlib.h>
#include <cuda.h>
#include <crt/host_defines.h>
#undef __noinline__ /* CUDA 12 makes an attribute of it, clang's keyword, which GCC's headers name inside attributes. */
#define CUDA_WHEEL_BOTH(T) \
    static inline __host__ __device__ T min(T a, T b) { return b < a ? b : a; } \
    static inline __host__ __device__ T max(T a, T b) { return a < b ? b : a; }
CUDA_WHEEL_BOTH(int)
CUDA_WHEEL_BOTH(unsigned)
CUDA_WHEEL_BOTH(long)
CUDA_WHEEL_BOTH(unsigned long)
CUDA_WHEEL_BOTH(long long)
CUDA_WHEEL_BOTH(unsigned long long)
CUDA_WHEEL_BOTH(float)
CUDA_WHEEL_BOTH(double)
#define CUDA_WHEEL_MIXED(A, B, T) \
    static inline __host__ __device__ T min(A a, B b) { return min((T)a, (T)b); } \
    static inline __host__ __device__ T max(A a, B b) { return max((T)a, (T)b); }
CUDA_WHEEL_MIXED(int, unsigned, unsigned)
CUDA_WHEEL_MIXED(unsigned, int, unsigned)
CUDA_WHEEL_MIXED(long, unsigned long, unsigned long)
CUDA_WHEEL_MIXED(unsigned long, long, unsigned long)
CUDA_WHEEL_MIXED(long long, unsigned long long, unsigned long long)
CUDA_WHEEL_MIXED(unsigned long long, long long, unsigned long long)
CUDA_WHEEL_MIXED(float, double, double)
CUDA_WHEEL_MIXED(double, float, double)
extern "C" {
#define CUDA_WHEEL_ONE(NAME) __device__ float NAME##f(float) noexcept;
CUDA_WHEEL_ONE(tanh)
CUDA_WHEEL_ONE(trunc)
CUDA_WHEEL_ONE(rint)
CUDA_WHEEL_ONE(fabs)
CUDA_WHEEL_ONE(sin)
CUDA_WHEEL_ONE(cos)
CUDA_WHEEL_ONE(exp)
CUDA_WHEEL_ONE(log)
CUDA_WHEEL_ONE(sqrt)
CUDA_WHEEL_ONE(floor)
CUDA_WHEEL_ONE(ceil)
CUDA_WHEEL_ONE(round)
CUDA_WHEEL_ONE(log2)
CUDA_WHEEL_ONE(exp2)
CUDA_WHEEL_ONE(log10)
CUDA_WHEEL_ONE(expm1)
CUDA_WHEEL_ONE(log1p)
CUDA_WHEEL_ONE(tan)
CUDA_WHEEL_ONE(sinh)
CUDA_WHEEL_ONE(cosh)
CUDA_WHEEL_ONE(asin)
CUDA_WHEEL_ONE(acos)
CUDA_WHEEL_ONE(atan)
CUDA_WHEEL_ONE(erf)
CUDA_WHEEL_ONE(erfc)
CUDA_WHEEL_ONE(cbrt)
CUDA_WHEEL_ONE(lgamma)
CUDA_WHEEL_ONE(tgamma)
CUDA_WHEEL_ONE(asinh)
CUDA_WHEEL_ONE(acosh)
CUDA_WHEEL_ONE(atanh)
CUDA_WHEEL_ONE(logb)
CUDA_WHEEL_ONE(nearbyint)
#define CUDA_WHEEL_NEW(NAME) __host__ __device__ double NAME(double) noexcept; __host__ __device__ float NAME##f(float) noexcept;
CUDA_WHEEL_NEW(rsqrt)
CUDA_WHEEL_NEW(rcbrt)
CUDA_WHEEL_NEW(sinpi)
CUDA_WHEEL_NEW(cospi)
CUDA_WHEEL_NEW(tanpi)
CUDA_WHEEL_NEW(erfinv)
CUDA_WHEEL_NEW(erfcinv)
CUDA_WHEEL_NEW(erfcx)
CUDA_WHEEL_NEW(normcdf)
CUDA_WHEEL_NEW(normcdfinv)
#define CUDA_WHEEL_TWO(NAME) __device__ float NAME##f(float, float) noexcept;
CUDA_WHEEL_TWO(fmin)
CUDA_WHEEL_TWO(fmax)
CUDA_WHEEL_TWO(pow)
CUDA_WHEEL_TWO(fmod)
CUDA_WHEEL_TWO(atan2)
CUDA_WHEEL_TWO(hypot)
CUDA_WHEEL_TWO(copysign)
CUDA_WHEEL_TWO(fdim)
CUDA_WHEEL_TWO(nextafter)
CUDA_WHEEL_TWO(remainder)
__device__ float frexpf(float, int*) noexcept;
__device__ float ldexpf(float, int) noexcept;
__device__ float scalbnf(float, int) noexcept;
__device__ float fmaf(float, float, float) noexcept;
__device__ void sincosf(float, float*, float*) noexcept;
__host__ __device__ void sincospif(float, float*, float*) noexcept;
__device__ float modff(float, float*) noexcept;
__device__ void* malloc(unsigned long) noexcept;
__device__ void free(void*) noexcept;
__device__ long lrintf(float) noexcept;
__device__ long lroundf(float) noexcept;
__host__ __device__ float norm3df(float, float, float) noexcept;
__host__ __device__ float rnorm3df(float, float, float) noexcept;
__host__ __device__ float rhypotf(float, float) noexcept;
}
#include <cuda_runtime.h>
#include <torch/extension.h>
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
/* Where a library is not installed, a condition on its version would choose code in silence. */
#ifdef CUDA_WHEEL_NO_CUBLAS
#pragma GCC poison CUBLAS_VERSION CUBLAS_VER_MAJOR CUBLAS_VER_MINOR CUBLAS_VER_PATCH
#endif
#ifdef CUDA_WHEEL_NO_CUSPARSE
#pragma GCC poison CUSPARSE_VERSION CUSPARSE_VER_MAJOR CUSPARSE_VER_MINOR CUSPARSE_VER_PATCH
#endif
#ifdef CUDA_WHEEL_NO_CUSOLVER
#pragma GCC poison CUSOLVER_VERSION CUSOLVER_VER_MAJOR CUSOLVER_VER_MINOR CUSOLVER_VER_PATCH
#endif
/* PyTorch's dispatch macros took the deprecated `x.type()` until 2.10. In releases that still do, the function of no template is preferred. */
namespace detail {
template <typename T, std::enable_if_t<std::is_same_v<T, at::DeprecatedTypeProperties>, int> = 0>
inline at::ScalarType scalar_type(const T& type) { return type.scalarType(); }
}
/* nvcc defines it with --expt-extended-lambda. CCCL's headers above ask for it too, and then need more of nvcc. */
#define __CUDACC_EXTENDED_LAMBDA__ 1
