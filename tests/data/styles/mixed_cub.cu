// kernels: block_totals<128>; block_totals<256>
// CUB's umbrella header, with device-wide functions on the host and block-wide functions in a kernel; also Thrust.
#include <cub/cub.cuh>
#include <cub/device/device_reduce.cuh>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <iostream>

template <int THREADS> __global__ void block_totals(const int* in, int* out)
{
    using Reduce = cub::BlockReduce<int, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    int total = Reduce(storage).Sum(in[blockIdx.x * THREADS + threadIdx.x]);
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}

int main()
{
    thrust::device_vector<int> values(1024, 1), totals(8);
    thrust::sort(values.begin(), values.end());
    block_totals<128><<<8, 128>>>(thrust::raw_pointer_cast(values.data()), thrust::raw_pointer_cast(totals.data()));
    block_totals<256><<<4, 256>>>(thrust::raw_pointer_cast(&values[0]), thrust::raw_pointer_cast(&totals[0]));
    void* scratch = nullptr;
    size_t size = 0;
    cub::DeviceReduce::Sum(scratch, size, values.begin(), totals.begin(), 1024);
    cudaMalloc(&scratch, size);
    cub::DeviceReduce::Sum(scratch, size, values.begin(), totals.begin(), 1024);
    thrust::host_vector<int> host = totals;
    std::cout << host[0] << std::endl;
}
