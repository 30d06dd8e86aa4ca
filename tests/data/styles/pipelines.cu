// kernels: prefetched; primitive_barrier
#include <cuda_awbarrier.h>
#include <cuda_pipeline.h>

extern "C" __global__ void prefetched(const int4* in, int4* out)
{
    __shared__ int4 buffer[128];
    __pipeline_memcpy_async(&buffer[threadIdx.x], &in[threadIdx.x], sizeof(int4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = buffer[threadIdx.x];
}

extern "C" __global__ void primitive_barrier(int* x)
{
    __shared__ __mbarrier_t barrier;
    if (threadIdx.x == 0)
        __mbarrier_init(&barrier, blockDim.x);
    __syncthreads();
    __mbarrier_token_t token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token))
        ;
    x[threadIdx.x] = 1;
}
