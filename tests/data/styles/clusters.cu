// kernels: share; launched_with; tensor_copy
// architectures: 90
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) share(int* x)
{
    __shared__ int mine;
    cg::cluster_group cluster = cg::this_cluster();
    mine = x[blockIdx.x];
    cluster.sync();
    int* other = cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
    atomicAdd(other, 1);
    cluster.sync();
    x[blockIdx.x] = mine;
}

#pragma nv_diag_suppress 20054
extern "C" __global__ void __launch_bounds__(128, 1, 4) launched_with(float* x, const float* from)
{
    alignas(128) __shared__ float buffer[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        cuda::device::memcpy_async_tx(buffer, from, cuda::aligned_size_t<16>(sizeof buffer), barrier);
    auto token = cuda::device::barrier_arrive_tx(barrier, 1, threadIdx.x == 0 ? sizeof buffer : 0);
    barrier.wait(cuda::std::move(token));
    x[threadIdx.x] = buffer[threadIdx.x];
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

extern "C" __global__ void tensor_copy(const __grid_constant__ CUtensorMap map, int4* out, int x, int y)
{
    __shared__ alignas(128) int4 tile[64];
    __shared__ alignas(8) unsigned long long arrived;
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&arrived));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(1024));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))), "l"(&map), "r"(x), "r"(y), "r"(address)
                     : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred done; wait: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0; @!done bra wait; }"
                 ::"r"(address) : "memory");
    out[threadIdx.x] = tile[threadIdx.x];
}
