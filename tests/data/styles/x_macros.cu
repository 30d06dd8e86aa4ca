// kernels: add_float; add_int; sub_float; sub_int; scale_half; scale_double; unary_neg; unary_abs
#include <cuda_fp16.h>

#define TYPES(DO, op, sign) DO(op, float, sign) DO(op, int, sign)
#define BINARY(op, type, sign)                                                                                       \
    extern "C" __global__ void op##_##type(const type* a, const type* b, type* c, int n)                             \
    {                                                                                                                \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)                      \
            c[i] = a[i] sign b[i];                                                                                   \
    }
TYPES(BINARY, add, +)
TYPES(BINARY, sub, -)

#define SCALE(type)                                                                                                  \
    extern "C" __global__ void scale_##type(type* x, type by) { x[threadIdx.x] = x[threadIdx.x] * by; }
SCALE(half)
SCALE(double)
#undef SCALE

#define LIST \
    X(neg, -x) \
    X(abs, x < 0 ? -x : x)
#define X(name, expression) __device__ static inline float name##_of(float x) { return expression; }
LIST
#undef X
#define X(name, expression) extern "C" __global__ void unary_##name(float* x) { x[threadIdx.x] = name##_of(x[threadIdx.x]); }
LIST
#undef X
