// kernels: field::fill_values<float>; field::fill_values<int>; scale_field
// A class with host and device members, RAII, exceptions and streams.
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <cuda_runtime.h>

namespace field {

class CudaError : public std::runtime_error {
public:
    explicit CudaError(cudaError_t status) : std::runtime_error(cudaGetErrorString(status)) {}
};

inline void check(cudaError_t status)
{
    if (status != cudaSuccess)
        throw CudaError(status);
}

template <typename T> __global__ void fill_values(T* data, T value, size_t n)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n)
        data[i] = value;
}

template <typename T> class Buffer {
public:
    explicit Buffer(size_t n) : size_(n) { check(cudaMalloc(&data_, n * sizeof(T))); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
    ~Buffer() { cudaFree(data_); }
    void fill(T value, cudaStream_t stream = 0)
    {
        fill_values<T><<<(size_ + 127) / 128, 128, 0, stream>>>(data_, value, size_);
        check(cudaGetLastError());
    }
    std::vector<T> download() const
    {
        std::vector<T> host(size_);
        check(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }
    T* data() { return data_; }

private:
    T* data_ = nullptr;
    size_t size_;
};

struct Grid {
    int width, height;
    float* values;
    std::string describe() const { return std::to_string(width) + "x" + std::to_string(height); }
    __host__ __device__ int index(int x, int y) const { return y * width + x; }
    __device__ float& at(int x, int y) { return values[index(x, y)]; }
};

}

extern "C" __global__ void scale_field(field::Grid grid, float by)
{
    grid.at(threadIdx.x, blockIdx.x) *= by;
}

static std::unique_ptr<field::Buffer<float>> global_buffer;

int main()
try {
    field::Buffer<float> values(1 << 20);
    field::Buffer<int> marks(256);
    values.fill(1.0f);
    marks.fill(-1);
    field::Grid grid{1024, 1024, values.data()};
    scale_field<<<1024, 1024>>>(grid, 2.0f);
    std::cout << grid.describe() << ' ' << values.download()[0] << std::endl;
    global_buffer = std::make_unique<field::Buffer<float>>(16);
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
