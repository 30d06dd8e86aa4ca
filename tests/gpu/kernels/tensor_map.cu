// Copies one tile of a tensor with the tensor memory accelerator (TMA), of compute capability 9.0 and higher.
#include <cuda.h>

template <class T, int ROWS, int COLUMNS>
__global__ void tile(const __grid_constant__ CUtensorMap map, int row, int column, T* out)
{
    __shared__ alignas(1024) T shared[ROWS * COLUMNS];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "n"(ROWS * COLUMNS * sizeof(T))
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(&map), "r"(column), "r"(row), "r"(at)
                     : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred done; waiting: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0; @!done bra waiting; }"
                 ::"r"(at) : "memory");
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x)
        out[i] = shared[i];
}

template __global__ void tile<float, 8, 16>(const __grid_constant__ CUtensorMap, int, int, float*);
template __global__ void tile<unsigned short, 4, 64>(const __grid_constant__ CUtensorMap, int, int, unsigned short*);
extern "C" __global__ void plain(const __grid_constant__ CUtensorMap map, int* out) { *out = sizeof(map); }

// Structs that are aligned to more than 16 bytes move all parameters of sm_90 in machine code.
struct alignas(32) Wide { double a, b, c, d; };
struct alignas(64) Wider { int a[16]; };

extern "C" __global__ void aligned(double* out, Wide wide, int first, Wider wider, float last)
{
    out[0] = wide.d;
    out[1] = first;
    out[2] = wider.a[15];
    out[3] = last;
}
