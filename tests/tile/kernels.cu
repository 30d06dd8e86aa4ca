#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;
using namespace ct::literals;

extern "C" __tile_global__ void add(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out,
                                    int n)
{
    using Indices = ct::tile<int, ct::shape<1024>>;
    auto i = static_cast<int>(ct::bid().x) * 1024 + ct::iota<Indices>();
    auto inside = i < n;
    ct::store_masked(out + i, ct::load_masked(x + i, inside) + ct::load_masked(y + i, inside), inside);
}

namespace demo {

template <class T>
__tile_global__ void scale(T* p, T factor, long long n)
{
    using Indices = ct::tile<long long, ct::shape<256>>;
    auto i = static_cast<long long>(ct::bid().x) * 256 + ct::iota<Indices>();
    auto inside = i < n;
    ct::store_masked(p + i, ct::load_masked(p + i, inside) * factor, inside);
}

// On GPUs that have the Tensor Memory Accelerator, the driver makes its descriptors from the arguments of a launch.
__tile_global__ void product(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ c, int m,
                             int n, int k)
{
    auto left = ct::partition_view{ct::tensor_span{ct::assume_aligned(a, 16_ic), ct::extents{m, k}},
                                   ct::shape{64_ic, 32_ic}};
    auto right = ct::partition_view{ct::tensor_span{ct::assume_aligned(b, 16_ic), ct::extents{k, n}},
                                    ct::shape{32_ic, 64_ic}};
    auto result = ct::partition_view{ct::tensor_span{ct::assume_aligned(c, 16_ic), ct::extents{m, n}},
                                     ct::shape{64_ic, 64_ic}};
    auto sum = ct::full<ct::tile<float, ct::shape<64, 64>>>(0.0f);
    for (int at = 0; at < (k + 31) / 32; ++at)
        sum = ct::mma(left.load_masked(ct::bid().x, at), right.load_masked(at, ct::bid().y), sum);
    result.store_masked(sum, ct::bid().x, ct::bid().y);
}

}  // namespace demo
