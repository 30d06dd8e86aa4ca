// kernels: gather; wave
// The standard C++ headers, each with something that device code uses.
#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
__device__ T largest(std::initializer_list<T> values)
{
    T best = std::numeric_limits<T>::lowest();
    for (T value : values)
        best = std::max(best, value);
    return best;
}

__device__ std::tuple<int, float> split(float x)
{
    return std::make_tuple(static_cast<int>(std::floor(x)), x - std::floor(x));
}

__device__ std::optional<int> index_of(const int* values, std::size_t n, int wanted)
{
    for (std::size_t i = 0; i < n; ++i)
        if (values[i] == wanted)
            return static_cast<int>(i);
    return std::nullopt;
}

extern "C" __global__ void gather(float* out, const int* in, std::int32_t n)
{
    static_assert(std::is_same<std::uint8_t, unsigned char>::value, "bytes are bytes");
    std::array<int, 4> nearest{{INT_MAX, INT_MAX, INT_MAX, INT_MAX}};
    int i = static_cast<int>(threadIdx.x);
    if (i >= n)
        return;
    for (int k = 0; k < n; ++k) {
        int value = in[k];
        for (auto& kept : nearest)
            if (value < kept)
                std::swap(value, kept);
    }
    auto [whole, rest] = split(out[i]);
    std::pair<int, int> bounds = std::make_pair(std::min(whole, nearest[0]), std::max(whole, nearest[3]));
    assert(bounds.first <= bounds.second);
    int sorted[3] = {in[0], in[i], in[n - 1]};
    if (std::less<int>()(sorted[1], sorted[0]))
        std::swap(sorted[0], sorted[1]);
    int total = std::accumulate(std::begin(nearest), std::end(nearest), 0, std::plus<int>());
    float clamped = std::clamp(rest, 0.0f, 1.0f - FLT_EPSILON);
    out[i] = largest({clamped, std::fabs(rest), static_cast<float>(total)}) + std::get<0>(split(rest));
    out[i] += index_of(in, static_cast<std::size_t>(n), sorted[2]).value_or(-1);
    if (std::isnan(out[i]))
        std::printf("element %d is no number\n", i);
}

__global__ void wave(std::complex<float>* z, float step)
{
    std::complex<float> turn(std::cos(step), std::sin(step));
    z[threadIdx.x] = std::conj(z[threadIdx.x]) * turn + std::complex<float>(0.0f, std::exp(-step));
    z[threadIdx.x] *= std::abs(turn) + std::pow(2.0f, 3.0f) + std::hypot(3.0f, 4.0f);
}
