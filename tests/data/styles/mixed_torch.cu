// kernels: gelu_forward<float>; gelu_forward<double>; gelu_backward<float>
// A PyTorch extension as in its tutorials. PyTorch's headers are not installed here; they declare host code only.
// instantiate: gelu_forward<float>; gelu_forward<double>; gelu_backward<float>
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <vector>

template <typename T> __device__ __forceinline__ float to_float(T x) { return static_cast<float>(x); }

template <typename scalar_t>
__global__ void gelu_forward(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, const int64_t n)
{
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i >= n)
        return;
    const float x = to_float(in[i]);
    out[i] = static_cast<scalar_t>(0.5f * x * (1.0f + erff(x * static_cast<float>(M_SQRT1_2))));
}

template <typename scalar_t>
__global__ void gelu_backward(const scalar_t* gradient, const scalar_t* in, scalar_t* out, int64_t n)
{
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = gradient[i] * (in[i] > scalar_t(0));
}

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_INPUT(x) CHECK_CUDA(x); TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")

torch::Tensor forward(torch::Tensor input)
{
    CHECK_INPUT(input);
    const at::cuda::OptionalCUDAGuard guard(device_of(input));
    auto output = torch::empty_like(input);
    const int threads = 256;
    const int64_t n = input.numel();
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "gelu_forward", ([&] {
        gelu_forward<scalar_t><<<(n + threads - 1) / threads, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), n);
    }));
    return output;
}

std::vector<torch::Tensor> backward(const torch::Tensor& gradient, const torch::Tensor& input)
{
    auto output = at::zeros_like(input);
    gelu_backward<float><<<64, 256>>>(gradient.data_ptr<float>(), input.data_ptr<float>(), output.data_ptr<float>(), input.numel());
    AT_CUDA_CHECK(cudaGetLastError());
    return {output};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("forward", &forward, "GELU forward (CUDA)");
    m.def("backward", &backward, py::arg("gradient"), py::arg("input"));
}

TORCH_LIBRARY_IMPL(gelu, CUDA, m) { m.impl("forward", &forward); }
