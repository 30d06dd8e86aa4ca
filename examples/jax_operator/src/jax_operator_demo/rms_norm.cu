// y = x / sqrt(mean(x^2) + epsilon) * weight for each row of x. One block computes one row, in float.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float sum_of_warp(float value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffff, value, distance);
    return value;
}

template <typename T>
__global__ void rms_norm(const T* x, const T* weight, T* y, int columns, float epsilon)
{
    __shared__ float sums[32];
    const long long start = blockIdx.x * (long long)columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += float(x[start + i]) * float(x[start + i]);
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = sum_of_warp(threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0.0f);
    const float scale = rsqrtf(sum / columns + epsilon);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        y[start + i] = T(float(x[start + i]) * scale * float(weight[i]));
}
