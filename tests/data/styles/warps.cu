// kernels: reduce_rows; ballots; matches
#define FULL_MASK 0xffffffffu

template <typename T> __inline__ __device__ T warp_sum(T value)
{
    for (int offset = warpSize / 2; offset > 0; offset >>= 1)
        value += __shfl_down_sync(FULL_MASK, value, offset);
    return value;
}

template <typename T> __inline__ __device__ T block_sum(T value)
{
    static __shared__ T partial[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    value = warp_sum<T>(value);
    if (lane == 0)
        partial[warp] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? partial[lane] : T(0);
    return warp == 0 ? warp_sum(value) : value;
}

extern "C" __global__ void reduce_rows(const double* x, double* y, const float* f)
{
    double sum = block_sum(x[blockIdx.x * blockDim.x + threadIdx.x]) + block_sum(f[threadIdx.x]);
    if (!threadIdx.x)
        y[blockIdx.x] = sum;
}

extern "C" __global__ void ballots(int* x)
{
    unsigned lanes = __ballot_sync(__activemask(), x[threadIdx.x] > 0);
    int leader = __ffs(lanes) - 1;
    x[threadIdx.x] = __popc(lanes & ((1u << threadIdx.x) - 1)) + __shfl_sync(FULL_MASK, x[threadIdx.x], leader);
    x[threadIdx.x] += __shfl_up_sync(FULL_MASK, x[threadIdx.x], 1, 16) + __shfl_xor_sync(FULL_MASK, 1LL, 2);
    if (__any_sync(FULL_MASK, x[threadIdx.x]) && !__all_sync(FULL_MASK, leader))
        x[threadIdx.x] = __clz(lanes) + __brev(lanes) + __syncthreads_or(leader);
}

extern "C" __global__ void matches(unsigned* x, int* all)
{
    x[threadIdx.x] = __match_any_sync(FULL_MASK, x[threadIdx.x]);
    unsigned same = __match_all_sync(FULL_MASK, x[threadIdx.x], all);
    x[threadIdx.x] = __reduce_add_sync(same, x[threadIdx.x]) | __reduce_max_sync(FULL_MASK, 3u) | __reduce_or_sync(FULL_MASK, same);
    __syncwarp();
    __threadfence_block();
    __threadfence();
    __threadfence_system();
}
