// Kernels that show what they were given: one for every kind of argument.
#include <cooperative_groups.h>
#include <cuda/std/complex>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

struct Pair {
    int first;
    double second;
};

enum Colour { red, green, blue };

__global__ void numbers(
    double* out,
    signed char a,
    unsigned char b,
    short c,
    unsigned short d,
    int e,
    unsigned f,
    long long g,
    unsigned long long h,
    float i,
    double j,
    bool k,
    char l,
    __half m,
    __nv_bfloat16 n,
    Colour o)
{
    double values[] = {
        double(a), double(b), double(c), double(d), double(e), double(f), double(g), double(h), double(i),
        j, double(k), double(l), double(__half2float(m)), double(__bfloat162float(n)), double(o)};
    for (int index = 0; index < 15; index++)
        out[index] = values[index];
}

// No name mangling, and a macro among the parameters: of the types no more is known than their sizes.
#define LAST short
extern "C" __global__ void bare(double* out, int a, unsigned b, long long c, float d, LAST e)
{
    out[0] = a;
    out[1] = b;
    out[2] = double(c);
    out[3] = d;
    out[4] = e;
}

__global__ void structs(double* out, char pad, Pair pair, float2 two, int4 four, cuda::std::complex<float> z, uchar3 three)
{
    double values[] = {
        double(pair.first), pair.second, double(two.x), double(two.y), double(four.x), double(four.y), double(four.z),
        double(four.w), double(z.real()), double(z.imag()), double(three.x + pad), double(three.y), double(three.z)};
    for (int index = 0; index < 13; index++)
        out[index] = values[index];
}

template <class T>
__global__ void copy(const T* from, T* to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[i];
}

__global__ void is_null(const void* pointer, int* out)
{
    *out = pointer == nullptr;
}

// Writes every element's place, from a grid and a block of three dimensions.
__global__ void places(int* out)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

// Reverses one block's numbers in dynamic shared memory.
__global__ void reverse(float* numbers, int n)
{
    extern __shared__ float values[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        values[i] = numbers[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        numbers[i] = values[n - 1 - i];
}

// Every block adds to what all blocks did before: right only if they wait for each other.
__global__ void in_turn(int* sums, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    int blocks = gridDim.x;
    for (int round = 0; round < rounds; round++) {
        int total = 0;
        for (int block = 0; block < blocks; block++)
            total += sums[round * blocks + block];
        if (threadIdx.x == 0)
            sums[(round + 1) * blocks + blockIdx.x] = total + 1;
        grid.sync();
    }
}

#if __CUDA_ARCH__ >= 900
__global__ void ranks(int* out)
{
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        out[blockIdx.x] = 100 * cluster.num_blocks() + cluster.block_rank();
}
#endif

__constant__ float coefficients[4] = {1, 2, 3, 4};
__device__ int counter;
__managed__ double level = 0.5;
namespace ns {
__device__ float weights[2];
}

__global__ void tick()
{
    atomicAdd(&counter, 1);
}

__global__ void polynomial(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = coefficients[0] + x[i] * (coefficients[1] + x[i] * (coefficients[2] + x[i] * coefficients[3]))
            + float(level) + ns::weights[0];
}

__global__ void __launch_bounds__(64) narrow(int* out)
{
    out[threadIdx.x] = 1;
}

// Does what must not be done.
__global__ void wild(int* nowhere)
{
    *nowhere = 1;
}
