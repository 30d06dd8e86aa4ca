// kernels: map_values<Saxpy, float>; map_values<Clamp<int>, int>; fold<float, Plus>; fold<float, Max>
// Functors that host code constructs and kernels call, and templates over them.
#include <cstdio>
#include <type_traits>
#include <utility>
#include <vector>

struct Saxpy {
    float a;
    Saxpy(float a) : a(a) { std::printf("made with %f\n", a); }
    __host__ __device__ float operator()(float x) const { return a * x; }
};

template <typename T> struct Clamp {
    T low, high;
    __device__ T operator()(T x) const { return x < low ? low : x > high ? high : x; }
    static Clamp make(T low, T high) { return Clamp{low, high}; }
};

struct Plus {
    template <typename T> __host__ __device__ T operator()(const T& a, const T& b) const { return a + b; }
};
struct Max {
    template <typename T> __host__ __device__ T operator()(const T& a, const T& b) const { return a > b ? a : b; }
};

template <typename F, typename T> __global__ void map_values(F f, T* x, int n)
{
    static_assert(std::is_trivially_copyable<T>::value, "a value");
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = f(x[i]);
}

template <typename T, class Operation> __global__ void fold(const T* x, T* y, int n, Operation operation)
{
    T value = x[0];
    for (int i = 1; i < n; ++i)
        value = operation(value, x[i]);
    *y = value;
}

template <typename F, typename T> void map_on_device(F f, std::vector<T>& values)
{
    T* device;
    cudaMalloc(&device, values.size() * sizeof(T));
    map_values<<<8, 128>>>(f, device, static_cast<int>(values.size()));
    cudaFree(device);
}

template <class Operation> float reduced(const float* x, float* y, int n)
{
    fold<float, Operation><<<1, 1>>>(x, y, n, Operation());
    return Operation()(1.0f, 2.0f);
}

void everything(std::vector<float>& floats, std::vector<int>& integers, const float* x, float* y)
{
    map_on_device(Saxpy(2.0f), floats);
    map_on_device(Clamp<int>::make(0, 9), integers);
    std::printf("%f %f\n", reduced<Plus>(x, y, 10), reduced<Max>(x, y, 10));
}
