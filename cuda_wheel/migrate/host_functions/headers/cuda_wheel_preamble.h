#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __COMMON_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__
#define __MATH_FUNCTIONS_HPP__
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <math.h>
#include <stdlib.h>
#include <crt/host_defines.h>
#define CW_MINMAX(T) static inline __host__ __device__ T min(T a, T b) { return b < a ? b : a; } static inline __host__ __device__ T max(T a, T b) { return a < b ? b : a; }
CW_MINMAX(int) CW_MINMAX(unsigned) CW_MINMAX(long) CW_MINMAX(unsigned long) CW_MINMAX(long long) CW_MINMAX(unsigned long long) CW_MINMAX(float) CW_MINMAX(double)
#define CW_MIXED(A, B, T) static inline __host__ __device__ T min(A a, B b) { return min((T)a, (T)b); } static inline __host__ __device__ T max(A a, B b) { return max((T)a, (T)b); }
CW_MIXED(int, unsigned, unsigned) CW_MIXED(unsigned, int, unsigned) CW_MIXED(long, unsigned long, unsigned long) CW_MIXED(unsigned long, long, unsigned long)
CW_MIXED(long long, unsigned long long, unsigned long long) CW_MIXED(unsigned long long, long long, unsigned long long) CW_MIXED(float, double, double) CW_MIXED(double, float, double)
extern "C" __device__ float tanhf(float) noexcept;
extern "C" __device__ float truncf(float) noexcept;
extern "C" __device__ float rintf(float) noexcept;
extern "C" __device__ float fabsf(float) noexcept;
extern "C" __device__ float sinf(float) noexcept;
extern "C" __device__ float cosf(float) noexcept;
extern "C" __device__ float expf(float) noexcept;
extern "C" __device__ float logf(float) noexcept;
extern "C" __device__ float sqrtf(float) noexcept;
extern "C" __device__ float floorf(float) noexcept;
extern "C" __device__ float ceilf(float) noexcept;
extern "C" __device__ float roundf(float) noexcept;
extern "C" __device__ float log2f(float) noexcept;
extern "C" __device__ float exp2f(float) noexcept;
extern "C" __device__ float log10f(float) noexcept;
extern "C" __device__ float expm1f(float) noexcept;
extern "C" __device__ float log1pf(float) noexcept;
extern "C" __device__ float tanf(float) noexcept;
extern "C" __device__ float sinhf(float) noexcept;
extern "C" __device__ float coshf(float) noexcept;
extern "C" __device__ float asinf(float) noexcept;
extern "C" __device__ float acosf(float) noexcept;
extern "C" __device__ float atanf(float) noexcept;
extern "C" __device__ float erff(float) noexcept;
extern "C" __device__ float erfcf(float) noexcept;
extern "C" __device__ float cbrtf(float) noexcept;
extern "C" __device__ float lgammaf(float) noexcept;
extern "C" __device__ float tgammaf(float) noexcept;
extern "C" __device__ float fminf(float,float) noexcept; extern "C" __device__ float fmaxf(float,float) noexcept; extern "C" __device__ float powf(float,float) noexcept; extern "C" __device__ float fmodf(float,float) noexcept;
#include <cuda_runtime.h>
#include <torch/extension.h>
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
