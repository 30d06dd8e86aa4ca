// kernels: gemm<float, 16>; gemm<double, 8>; detail::transform<detail::Square, int>; fold_all; apply<Twice>; lookup; pick<Mode::accurate>
// instantiate: gemm<float, 16>; gemm<double, 8>; pick<Mode::accurate>
#include <type_traits>
#include <utility>

template <typename T, int TILE>
__global__ void gemm(const T* a, const T* b, T* c, int n)
{
    static_assert(TILE > 0 && (TILE & (TILE - 1)) == 0, "a power of two");
    __shared__ T left[TILE][TILE], right[TILE][TILE];
    T sum{};
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[threadIdx.y * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[threadIdx.y * n + threadIdx.x] = sum;
}

namespace detail {
struct Square {
    template <typename T> __host__ __device__ constexpr T operator()(T x) const { return x * x; }
};

template <class F, class T>
__global__ void transform(T* x, F f)
{
    x[threadIdx.x] = f(x[threadIdx.x]);
}
template __global__ void transform<Square, int>(int*, Square);

template <unsigned N> struct Factorial { static constexpr unsigned value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr unsigned value = 1; };
}

template <typename... Values> __device__ auto sum_of(Values... values) { return (values + ... + 0); }

template <std::size_t... I> __device__ int unrolled(const int* x, std::index_sequence<I...>) { return sum_of(x[I]...); }

extern "C" __global__ void fold_all(int* x)
{
    auto twice = [scale = 2](auto value) { return scale * value; };
    auto add = [&](int i) { x[i] += detail::Factorial<5>::value; };
    add(threadIdx.x);
    x[threadIdx.x] = twice(unrolled(x, std::make_index_sequence<8>{}));
}

struct Twice {
    template <typename T> __device__ T operator()(T x) const
    {
        if constexpr (std::is_floating_point_v<T>)
            return x * T(2);
        else
            return x << 1;
    }
};
template <typename F> __global__ void apply(float* x, int* n) { *x = F{}(*x), *n = F{}(*n); }
template __global__ void apply<Twice>(float*, int*);

constexpr struct Table {
    int value[16];
    __host__ __device__ constexpr Table() : value{}
    {
        for (int i = 0; i < 16; ++i)
            value[i] = i * i;
    }
} squares;
__constant__ Table device_squares = squares;
extern "C" __global__ void lookup(int* x) { x[threadIdx.x] = device_squares.value[x[threadIdx.x] & 15] + Table().value[3]; }

enum class Mode { fast, accurate };
template <Mode M> __global__ void pick(float* x) { *x = M == Mode::fast ? __sinf(*x) : sinf(*x); }
