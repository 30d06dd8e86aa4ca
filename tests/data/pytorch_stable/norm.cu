// A norm by the stable interface of PyTorch 2.10: accessors, dispatch over element types, registration.
#define TORCH_TARGET_VERSION (((0ULL + 2) << 56) | ((0ULL + 10) << 48))
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/device.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/csrc/stable/macros.h>
#include <torch/headeronly/core/Dispatch_v2.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/core/TensorAccessor.h>
#include <torch/headeronly/util/Exception.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>
#include <cuda_runtime.h>
#include <optional>
#include <tuple>

using torch::stable::Tensor;
using torch::headeronly::ScalarType;

template <typename T>
using Accessor2 = torch::headeronly::HeaderOnlyGenericPackedTensorAccessor<T, 2, torch::headeronly::RestrictPtrTraits, int32_t>;

template <class T> struct Acc { using type = float; };
template <> struct Acc<double> { using type = double; };

template <typename scalar_t, int VEC>
__global__ void rms_norm_kernel(scalar_t* __restrict__ out, const scalar_t* __restrict__ in,
                                const scalar_t* __restrict__ weight, float epsilon, int hidden) {
  using acc_t = typename Acc<scalar_t>::type;
  acc_t sum = 0;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    acc_t x = static_cast<acc_t>(in[blockIdx.x * hidden + i]);
    sum += x * x;
  }
  __shared__ acc_t shared;
  if (threadIdx.x == 0) shared = 0;
  __syncthreads();
  atomicAdd(&shared, sum);
  __syncthreads();
  acc_t scale = rsqrt(shared / hidden + epsilon);
  for (int i = threadIdx.x; i < hidden; i += blockDim.x)
    out[blockIdx.x * hidden + i] = static_cast<scalar_t>(static_cast<acc_t>(in[blockIdx.x * hidden + i]) * scale) * weight[i];
}

template <typename T>
Accessor2<T> accessor(const Tensor& t) {
  return Accessor2<T>(t.mutable_data_ptr<T>(), t.sizes().data(), t.strides().data());
}

template <class T>
__global__ void transpose_kernel(Accessor2<T> out, const Accessor2<T> in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i < in.size(0) && j < in.size(1)) out[j][i] = in[i][j];
}

void rms_norm(Tensor& out, const Tensor& input, const Tensor& weight, double epsilon) {
  STD_TORCH_CHECK(input.is_contiguous(), "input must be contiguous, got ", input.dim());
  STD_TORCH_CHECK(input.scalar_type() == weight.scalar_type());
  const int hidden = input.size(-1);
  const int64_t tokens = input.numel() / hidden;
  torch::stable::accelerator::DeviceGuard guard(input.get_device_index());
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(input.get_device_index(), &stream));
  THO_DISPATCH_V2(input.scalar_type(), "rms_norm", AT_WRAP(([&]() {
    rms_norm_kernel<scalar_t, 4><<<tokens, 256, 0, (cudaStream_t)stream>>>(
        out.mutable_data_ptr<scalar_t>(), input.const_data_ptr<scalar_t>(), weight.const_data_ptr<scalar_t>(),
        epsilon, hidden);
  })), AT_EXPAND(AT_FLOATING_TYPES), torch::headeronly::ScalarType::Half, torch::headeronly::ScalarType::BFloat16);
  STD_CUDA_KERNEL_LAUNCH_CHECK();
}

Tensor transposed(Tensor input, std::optional<ScalarType> dtype) {
  auto out = torch::stable::new_empty(input, {input.size(1), input.size(0)}, dtype);
  cudaStream_t stream = nullptr;
  (void)torch::stable::accelerator::getCurrentStream(input.get_device_index()).id();
  THO_DISPATCH_SWITCH(input.scalar_type(), "transposed",
    THO_DISPATCH_CASE(ScalarType::Float, [&] { transpose_kernel<scalar_t><<<dim3(1, 2), 128, 0, stream>>>(accessor<scalar_t>(out), accessor<scalar_t>(input)); })
    THO_DISPATCH_CASE(ScalarType::Long, [&] { transpose_kernel<scalar_t><<<dim3(1, 2), 128, 0, stream>>>(accessor<scalar_t>(out), accessor<scalar_t>(input)); }));
  STD_CUDA_CHECK(cudaGetLastError());
  return out;
}

void boxed_rms_norm(StableIValue* stack, uint64_t num_args, uint64_t num_outputs) {
  auto out = torch::stable::detail::to<Tensor>(stack[0]);
  rms_norm(out, torch::stable::detail::to<Tensor>(stack[1]), torch::stable::detail::to<Tensor>(stack[2]), torch::stable::detail::to<double>(stack[3]));
  stack[0] = torch::stable::detail::from(out);
}

STABLE_TORCH_LIBRARY_FRAGMENT(demo, m) {
  m.def("rms_norm(Tensor(a!) out, Tensor input, Tensor weight, float epsilon) -> ()");
  m.def("transposed(Tensor input, ScalarType? dtype=None) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(demo, CUDA, m) {
  m.impl("rms_norm", TORCH_BOX(&rms_norm));
  m.impl("transposed", TORCH_BOX(&transposed));
  m.impl("boxed", &boxed_rms_norm);
}
