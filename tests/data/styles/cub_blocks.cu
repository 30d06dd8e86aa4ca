// kernels: total<float>; rank_keys; lane_sums
// instantiate: total<float>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

constexpr int THREADS = 128;

template <typename T>
__global__ void total(const T* in, T* out)
{
    using Reduce = cub::BlockReduce<T, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    T sum = Reduce(storage).Sum(in[blockIdx.x * THREADS + threadIdx.x]);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) rank_keys(unsigned* keys)
{
    typedef cub::BlockLoad<unsigned, THREADS, 4, cub::BLOCK_LOAD_TRANSPOSE> Load;
    typedef cub::BlockStore<unsigned, THREADS, 4, cub::BLOCK_STORE_TRANSPOSE> Store;
    typedef cub::BlockRadixSort<unsigned, THREADS, 4> Sort;
    typedef cub::BlockScan<unsigned, THREADS> Scan;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
        typename Scan::TempStorage scan;
    } storage;
    unsigned mine[4];
    Load(storage.load).Load(keys + blockIdx.x * THREADS * 4, mine);
    __syncthreads();
    Sort(storage.sort).Sort(mine);
    __syncthreads();
    Scan(storage.scan).ExclusiveSum(mine, mine);
    __syncthreads();
    Store(storage.store).Store(keys + blockIdx.x * THREADS * 4, mine);
}

extern "C" __global__ void lane_sums(int* x)
{
    __shared__ cub::WarpScan<int>::TempStorage scan;
    __shared__ cub::WarpReduce<int>::TempStorage reduce;
    int before = 0;
    cub::WarpScan<int>(scan).ExclusiveSum(x[threadIdx.x], before);
    x[threadIdx.x] = before + cub::WarpReduce<int>(reduce).Sum(before);
}
