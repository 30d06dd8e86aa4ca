// kernels: histogram
// The umbrella header, in a file without any host code.
#include <cub/cub.cuh>
#include <cuda/functional>

extern "C" __global__ void histogram(const unsigned char* samples, unsigned* bins)
{
    using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 256>;
    using Reduce = cub::BlockReduce<unsigned, 64>;
    __shared__ Histogram::TempStorage storage;
    __shared__ Reduce::TempStorage reduce;
    __shared__ unsigned counts[256];
    unsigned char mine[4];
    cub::LoadDirectBlocked(threadIdx.x, samples, mine);
    Histogram(storage).Histogram(mine, counts);
    __syncthreads();
    unsigned most = Reduce(reduce).Reduce(counts[threadIdx.x], cuda::maximum<unsigned>());
    if (threadIdx.x == 0)
        bins[256] = most;
    bins[threadIdx.x] = counts[threadIdx.x] + cub::ShuffleIndex<32>(most, 0, ~0u);
}
