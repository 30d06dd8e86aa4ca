// kernels: scan_rows; tiled; by_value; bounded
#include <cuda_runtime.h>

struct Settings {
    float scale[16];
    int rows;
};

extern "C" __global__ void scan_rows(const float* __restrict__ in, float* __restrict__ out, int n)
{
    extern __shared__ __align__(16) unsigned char memory[];
    float* values = reinterpret_cast<float*>(memory);
    int* marks = reinterpret_cast<int*>(values + n);
    values[threadIdx.x] = __ldg(in + threadIdx.x);
    marks[threadIdx.x] = values[threadIdx.x] > 0;
    __syncthreads();
    int positive = __syncthreads_count(marks[threadIdx.x]);
    for (int step = 1; step < n; step <<= 1) {
        float before = threadIdx.x >= step ? values[threadIdx.x - step] : 0.0f;
        __syncthreads();
        values[threadIdx.x] += before;
        __syncthreads();
    }
    out[threadIdx.x] = values[threadIdx.x] / max(positive, 1);
}

template <int TILE>
__device__ __forceinline__ void transpose_tile(float* out, const float* in, int width)
{
    __shared__ float tile[TILE][TILE + 1];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * width + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * width + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void __launch_bounds__(1024) tiled(float* out, const float* in, int width)
{
    transpose_tile<32>(out, in, width);
}

extern "C" __global__ void by_value(const __grid_constant__ Settings settings, float* x)
{
    const Settings* shared = &settings;
    x[threadIdx.x] *= shared->scale[threadIdx.x % 16] + gridDim.z + shared->rows;
}

extern "C" __launch_bounds__(256, 2) __global__ void bounded(double* x) { x[threadIdx.x] = rsqrt(x[threadIdx.x]); }
