// kernels: scaled<double>; ordered
// std: c++20
// instantiate: scaled<double>
#include <concepts>
#include <cstdint>
#include <type_traits>

template <typename T>
concept Number = std::is_arithmetic_v<T> && requires(T a, T b) {
    { a + b } -> std::convertible_to<T>;
};

template <Number T> __global__ void scaled(T* x, std::type_identity_t<T> by) { x[threadIdx.x] *= by; }

struct Options {
    int rounds = 1;
    bool exact = false;
};

template <Options options> __device__ auto run(Number auto x)
{
    for (int i = 0; i < options.rounds; ++i)
        x = x * x;
    return options.exact ? x : x + 1;
}

consteval int squared(int n) { return n * n; }

extern "C" __global__ void ordered(std::int64_t* x)
{
    auto less = []<std::integral T>(T a, T b) { return a < b; };
    x[0] = less(x[1], x[2]) ? run<Options{.rounds = 2}>(x[1]) : squared(4);
    if (x[0] > 3) [[likely]]
        x[1] = static_cast<int>(x[0] << 2);
}
