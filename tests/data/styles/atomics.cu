// kernels: all_widths; own_ones
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void all_widths(int* i, unsigned* u, unsigned long long* l, float* f, double* d, half* h, unsigned short* s)
{
    atomicAdd(i, 1), atomicAdd(u, 1u), atomicAdd(l, 1ull), atomicAdd(f, 1.0f), atomicAdd(d, 1.0);
    atomicAdd(h, __float2half(1.0f));
    atomicAdd(reinterpret_cast<half2*>(h), __float2half2_rn(1.0f));
    atomicAdd(reinterpret_cast<__nv_bfloat16*>(h), __float2bfloat16(1.0f));
    atomicSub(i, 2), atomicMin(i, 3), atomicMax(u, 4u), atomicInc(u, 5u), atomicDec(u, 6u);
    atomicAnd(u, 7u), atomicOr(i, 8), atomicXor(u, 9u), atomicMin(l, 3ull), atomicMax((long long*)l, 3ll), atomicOr(l, 1ull);
    atomicExch(f, 2.0f), atomicExch(l, 5ull), atomicCAS(i, 1, 2), atomicCAS(l, 1ull, 2ull), atomicCAS(s, 1, 2);
    atomicAdd_block(i, 1), atomicAdd_system(f, 1.0f), atomicCAS_system(u, 0u, 1u), atomicMax_block(i, 2);
}

__device__ __forceinline__ float atomicMax(float* address, float value)
{
    int* word = reinterpret_cast<int*>(address);
    int old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double* address, double value);
#endif

extern "C" __global__ void own_ones(float* f, double* d, volatile int* lock)
{
    atomicMax(f, f[threadIdx.x]);
    unsigned long long bits = __double_as_longlong(d[0]);
    while (atomicCAS((int*)lock, 0, 1) != 0)
        ;
    d[0] = __longlong_as_double(bits + 1);
    __threadfence();
    atomicExch((int*)lock, 0);
}
