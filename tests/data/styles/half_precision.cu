// kernels: axpy_half; axpy_bfloat; mixed
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp16.hpp>

extern "C" __global__ void axpy_half(__half2* y, const __half2* x, __half a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma2(__half2half2(a), x[i], y[i]);
    if (__hgt(y[i].x, __float2half(1.0f)) || __hbne2(y[i], h2exp(x[i])))
        y[i] = __floats2half2_rn(__low2float(y[i]), hsqrt(__high2half(y[i])));
    half plain = a * half(2) + __hmul(a, a);
    y[i].y = __hmax(plain, __hneg(a));
}

extern "C" __global__ void axpy_bfloat(__nv_bfloat162* y, const __nv_bfloat162* x, __nv_bfloat16 a)
{
    __nv_bfloat162 twice = __halves2bfloat162(a, a);
    y[threadIdx.x] = __hfma2(twice, x[threadIdx.x], y[threadIdx.x]);
    y[threadIdx.x].x = __hadd(y[threadIdx.x].x, __float2bfloat16(1.0f)) + a;
    atomicAdd(&y[0], __floats2bfloat162_rn(1.0f, __bfloat162float(a)));
}

extern "C" __global__ void mixed(float* out, const half* h, const nv_bfloat16* b)
{
    const half2 pair = *reinterpret_cast<const half2*>(h + 2 * threadIdx.x);
    float2 wide = __half22float2(pair);
    out[threadIdx.x] = wide.x * wide.y + static_cast<float>(b[threadIdx.x]) + __half2float(__shfl_xor_sync(~0u, pair.x, 1));
}
