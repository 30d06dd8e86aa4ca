// Kernels with each kind of argument that CuPy's RawModule passes.
#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/float16.cuh>
#include <cooperative_groups.h>

struct Record { int n; float x; double d; };
struct Wrapped { float x; };

__constant__ float table[4];
__device__ int counters[2];

float added(int i)  // a device function, because CuPy makes the GPU the default execution space
{
    return table[i % 4];
}

extern "C" __global__ void scale(const float* x, float* y, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = factor * x[i] + added(i);
}

extern "C" __global__ void numbers(double* o, double d, float f, bool b, signed char c, short s, unsigned short us, int i,
                                   unsigned int u, long long l, unsigned long long ul, size_t z)
{
    o[0] = d, o[1] = f, o[2] = b, o[3] = c, o[4] = s, o[5] = us, o[6] = i, o[7] = u, o[8] = l, o[9] = ul, o[10] = z;
}

extern "C" __global__ void complexes(complex<float>* x, complex<double>* y, complex<float> a, complex<double> b)
{
    x[0] = exp(a) / x[0] + sqrt(x[1]) * conj(a) + log(x[2]);
    y[0] = b / y[0] + y[1] * conj(b) + abs(y[2]);
}

extern "C" __global__ void structs(double* o, Record r, Wrapped w, float16 h, __half g)
{
    o[0] = r.n, o[1] = r.x, o[2] = r.d, o[3] = w.x, o[4] = float(h), o[5] = __half2float(g);
}

extern "C" __global__ void places(int* o, const float* p, const int* q)
{
    if (p)
        o[0] = p[0];
    o[1] = p == nullptr, o[2] = q == nullptr;
}

extern "C" __global__ void texel(float* o, cudaTextureObject_t t)
{
    o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}

extern "C" __global__ void strided(CArray<float, 2, false, true> x, CArray<float, 1, true, true> y)
{
    CUPY_FOR(i, x.size())
    y[i] = 2 * x[i];
}

extern "C" __global__ void size(int* o)
{
    atomicAdd(o, 1);
    int last[] = {(int)gridDim.x, (int)gridDim.y, (int)gridDim.z, (int)blockDim.x, (int)blockDim.y, (int)blockDim.z};
    for (int i = 0; i < 6; i++)
        o[1 + i] = last[i];
}

extern "C" __global__ void shared(int* o, int n)
{
    extern __shared__ int memory[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        memory[i] = i;
    __syncthreads();
    if (threadIdx.x == 0)
        o[0] = memory[n - 1];
}

extern "C" __global__ void together(int* o)
{
    o[1 + blockIdx.x] = blockIdx.x;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        for (int i = 0; i < gridDim.x; i++)
            o[0] += o[1 + i];
    }
}

namespace parts {
template <typename T, int N>
__global__ void shift(T* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] / T(3) + T(N);
}
}
