// kernels: staged; tally; views
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/std/variant>
#include <cooperative_groups.h>

#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void staged(const float* in, float* out, int tiles)
{
    constexpr int DEPTH = 2, TILE = 64;
    __shared__ float buffer[DEPTH][TILE];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, DEPTH> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int tile = 0, ahead = 0; tile < tiles; ++tile) {
        for (; ahead < tiles && ahead < tile + DEPTH; ++ahead) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[ahead % DEPTH], in + ahead * TILE,
                               cuda::aligned_size_t<16>(sizeof(float) * TILE), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        block.sync();
        sum += buffer[tile % DEPTH][threadIdx.x % TILE];
        block.sync();
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void tally(int* counters, unsigned long long* clock)
{
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier barrier;
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_device> counter(counters[0]);
    counter.fetch_add(1, cuda::std::memory_order_relaxed);
    auto token = barrier.arrive();
    barrier.wait(cuda::std::move(token));
    cuda::atomic_ref<int>(counters[1]).fetch_max(counter.load());
    *clock = cuda::std::chrono::system_clock::now().time_since_epoch().count();
}

extern "C" __global__ void views(int* data, int n)
{
    cuda::std::span<int> all(data, n);
    cuda::std::array<int, 3> few{1, 2, 3};
    cuda::std::optional<int> maybe = n > 4 ? cuda::std::optional<int>(all[0]) : cuda::std::nullopt;
    cuda::std::tuple<int, float> both(maybe.value_or(cuda::std::numeric_limits<int>::max()), 1.5f);
    cuda::std::variant<int, float> either = cuda::std::get<1>(both);
    all[1] = cuda::std::get<0>(both) + cuda::std::popcount(static_cast<cuda::std::uint32_t>(n)) + few[n % 3];
    all[2] = static_cast<int>(either.index()) + static_cast<int>(cuda::std::complex<float>(1, 2).imag());
}
