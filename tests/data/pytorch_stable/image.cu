// Image operators by the stable interface: atomics on small types, 8-bit floats, random generators.
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/generator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/csrc/stable/version.h>
#include <torch/headeronly/core/Dispatch_v2.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/cuda/Atomic.h>
#include <torch/headeronly/cuda/KernelUtils.h>
#include <torch/headeronly/util/complex.h>
#include <torch/headeronly/util/Float8_e4m3fn.h>
#include <torch/headeronly/util/TypeTraits.h>
#include <torch/headeronly/util/Metaprogramming.h>
#include <torch/headeronly/macros/Macros.h>
#include <cfloat>

using torch::stable::Tensor;

#define CUDA_1D_KERNEL_LOOP_T(i, n, index_t) for (index_t i = (blockIdx.x * blockDim.x) + threadIdx.x; i < (n); i += (blockDim.x * gridDim.x))

template <typename integer>
constexpr C10_HOST_DEVICE inline integer ceil_div(integer n, integer m) { return (n + m - 1) / m; }

template <typename T>
__global__ void pool_backward_kernel(int64_t nthreads, const T* grad_output, const int* argmax, int channels, int height, int width,
                                         int pooled, T* grad_input, const T* rois, const int64_t memory_span) {
  CUDA_1D_KERNEL_LOOP_T(index, nthreads, int64_t) {
    const int c = (index / pooled / pooled) % channels, n = index / pooled / pooled / channels;
    const T* offset_rois = rois + n * 5;
    int batch = static_cast<float>(offset_rois[0]);
    const int offset = (batch * channels + c) * height * width;
    if (argmax[index] != -1)
      torch::headeronly::fastAtomicAdd(grad_input, static_cast<int64_t>(offset + argmax[index]), memory_span, grad_output[index], true);
  }
}

template <typename T>
__global__ void extrema_kernel(const T* boxes, T* out, int n) {
  int i = threadIdx.x;
  T left = max(boxes[i * 4], boxes[0]);
  gpuAtomicAdd(out, left);
  gpuAtomicMax(out + 1, left);
}

__global__ void quantise_kernel(torch::headeronly::Float8_e4m3fn* out, const torch::headeronly::complex<float>* in, float scale) {
  out[threadIdx.x] = torch::headeronly::Float8_e4m3fn(in[threadIdx.x].real() * scale);
}

Tensor roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor& argmax, int64_t pooled, int64_t batch, int64_t channels,
                         int64_t height, int64_t width) {
  STD_TORCH_CHECK(grad.is_cuda(), "grad must be a CUDA tensor");
  STD_TORCH_CHECK(grad.dim() == 4, "only four dimensions");
  torch::stable::accelerator::DeviceGuard guard(grad.get_device_index());
  auto grad_input = torch::stable::new_zeros(grad, {batch, channels, height, width});
  void* current = nullptr;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(grad.get_device_index(), &current));
  auto stream = static_cast<cudaStream_t>(current);
  dim3 grid(std::min(ceil_div(static_cast<int64_t>(grad.numel()), static_cast<int64_t>(512)), static_cast<int64_t>(4096)));
  auto contiguous = torch::stable::contiguous(grad);
  THO_DISPATCH_V2(grad.scalar_type(), "roi_pool_backward", AT_WRAP(([&]() {
    pool_backward_kernel<scalar_t><<<grid, 512, 0, stream>>>(grad.numel(), contiguous.const_data_ptr<scalar_t>(), argmax.const_data_ptr<int>(),
      channels, height, width, pooled, grad_input.mutable_data_ptr<scalar_t>(), rois.const_data_ptr<scalar_t>(), grad_input.numel());
    extrema_kernel<<<1, 32, 0, stream>>>(contiguous.const_data_ptr<scalar_t>(), grad_input.mutable_data_ptr<scalar_t>(), 3);
  })), AT_EXPAND(AT_FLOATING_TYPES), torch::headeronly::ScalarType::Half);
  STD_CUDA_KERNEL_LAUNCH_CHECK();
  auto kept = torch::stable::index_select(torch::stable::permute(grad_input, {0, 2, 3, 1}), 0, argmax);
  STD_TORCH_CHECK(!torch::stable::is_pinned(kept) && kept.has_storage());
  return torch::stable::bitwise_and(kept, torch::stable::floor_divide(kept, rois));
}

void seeded(Tensor out, std::optional<torch::stable::Generator> generator) {
  if (generator) STD_TORCH_CHECK(generator->device().is_cuda());
  quantise_kernel<<<1, 32>>>(out.mutable_data_ptr<torch::headeronly::Float8_e4m3fn>(), nullptr, 2.f);
  STABLE_TORCH_ERROR_CODE_CHECK(0);
}

STABLE_TORCH_LIBRARY(demo_vision, m) {
  m.def("roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, SymInt pooled, SymInt b, SymInt c, SymInt h, SymInt w) -> Tensor");
  m.set_python_module("demo.ops");
}
STABLE_TORCH_LIBRARY_IMPL(demo_vision, CUDA, m) { m.impl("roi_pool_backward", TORCH_BOX(&roi_pool_backward)); m.impl("seeded", TORCH_BOX(&seeded)); }
