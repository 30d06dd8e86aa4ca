// Kernels that begin late, so that a launch which does not wait for them, or for which they do not wait, is seen.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

__device__ void wait(long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles) {}
}

__global__ void fill(float* out, float value, int n, long long cycles)
{
    wait(cycles);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

template <class T> __global__ void copy(const T* in, T* out, int n, long long cycles)
{
    wait(cycles);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
