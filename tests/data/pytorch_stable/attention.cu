// Attention by the stable interface: parameters in a struct, streams, device properties, a module without pybind11.
#include <Python.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/stableivalue_conversions.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/HeaderOnlyArrayRef.h>
#include <torch/headeronly/version.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <deque>
#include <mutex>
#include <vector>
#include <optional>

using torch::stable::Tensor;
namespace tsa = torch::stable::accelerator;

namespace {
std::deque<std::once_flag> device_flags;
std::vector<cudaDeviceProp> device_properties;

void initVectors() {
  static bool init_flag [[maybe_unused]] = []() {
    int device_count;
    cudaError_t err = cudaGetDeviceCount(&device_count);
    STD_TORCH_CHECK(err == cudaSuccess, "cudaGetDeviceCount failed: " + std::string(cudaGetErrorString(err)));
    device_flags.resize(device_count);
    device_properties.resize(device_count);
    return true;
  }();
}
cudaDeviceProp* get_device_prop() {
  initVectors();
  int device;
  cudaGetDevice(&device);
  std::call_once(device_flags[device], [device] { cudaGetDeviceProperties(&device_properties[device], device); });
  return &device_properties[device];
}
}

struct Params {
  using index_t = int64_t;
  void* __restrict__ q_ptr;
  void* __restrict__ o_ptr;
  index_t q_batch_stride, q_row_stride;
  int b, seqlen_q, d;
  float scale_softmax;
  bool is_bf16, is_causal;
  int* __restrict__ cu_seqlens_q;
  cudaStream_t stream;
};

#define BOOL_SWITCH(COND, CONST_NAME, ...)  [&] { if (COND) { constexpr static bool CONST_NAME = true; return __VA_ARGS__(); } else { constexpr static bool CONST_NAME = false; return __VA_ARGS__(); } }()

__device__ float to_float(__half x) { return __half2float(x); }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

__device__ void store(__half* p, float x) { *p = __float2half(x); }
__device__ void store(__nv_bfloat16* p, float x) { *p = __float2bfloat16(x); }

template <class Element, bool Is_causal, int kHeadDim>
__global__ void __launch_bounds__(128) attention_kernel(__grid_constant__ const Params params) {
  auto* q = reinterpret_cast<Element*>(params.q_ptr) + blockIdx.y * params.q_batch_stride;
  int row = blockIdx.x;
  if (Is_causal && threadIdx.x > row) return;
  store(reinterpret_cast<Element*>(params.o_ptr) + row * params.q_row_stride + threadIdx.x,
      (to_float(q[row * params.q_row_stride + threadIdx.x % kHeadDim]) * params.scale_softmax));
}

template <class Element>
void run_attend(Params& params, cudaStream_t stream) {
  BOOL_SWITCH(params.is_causal, Is_causal, [&] {
    if (params.d <= 64) attention_kernel<Element, Is_causal, 64><<<dim3(params.seqlen_q, params.b), 128, 0, stream>>>(params);
    else attention_kernel<Element, Is_causal, 128><<<dim3(params.seqlen_q, params.b), 128, 0, stream>>>(params);
  });
}

#define CHECK_DEVICE(x) STD_TORCH_CHECK(x.is_cuda(), #x " must be on CUDA")
#define CHECK_SHAPE(x, ...) do { auto expected_dims = std::vector<int64_t>{__VA_ARGS__}; \
  STD_TORCH_CHECK(x.dim() == static_cast<int64_t>(expected_dims.size()), #x " must have " + std::to_string(expected_dims.size()) + " dimensions"); \
  for (size_t i = 0; i < expected_dims.size(); ++i) STD_TORCH_CHECK(x.size(i) == expected_dims[i], #x " must have shape"); } while (0)

std::tuple<Tensor, Tensor, std::vector<Tensor>> attend(Tensor q, std::optional<Tensor> out_, std::optional<Tensor> cu_seqlens_q_,
    std::optional<double> softmax_scale_, bool is_causal, int64_t window) {
  auto dprops = get_device_prop();
  STD_TORCH_CHECK(dprops->major >= 8, "compute capability 8.0 is needed");
  auto q_type = q.scalar_type();
  STD_TORCH_CHECK(q_type == torch::headeronly::ScalarType::Half || q_type == torch::headeronly::ScalarType::BFloat16, "dtype");
  CHECK_DEVICE(q);
  STD_TORCH_CHECK(q.stride(-1) == 1, "contiguous last dimension");
  int const batch = q.size(0), seqlen = q.size(1), d = q.size(-1);
  CHECK_SHAPE(q, batch, seqlen, d);
  auto round_multiple = [](int x, int m) { return (x + m - 1) / m * m; };
  Tensor out = out_.has_value() ? out_.value() : torch::stable::new_empty(q, {batch, seqlen, d}, std::make_optional(q_type));
  auto device_guard = tsa::DeviceGuard(q.get_device_index());
  Tensor lse = torch::stable::new_empty(q, {batch, seqlen}, std::make_optional(torch::headeronly::ScalarType::Float));
  lse = torch::stable::fill_(lse, 0.0);
  Tensor transposed = torch::stable::transpose(q, 1, 2);
  Tensor padded = torch::stable::pad(q, {0, round_multiple(d, 8) - d});
  Params params{};
  params = {};
  params.q_ptr = q.data_ptr();
  params.o_ptr = out.data_ptr();
  params.q_batch_stride = q.stride(0);
  params.q_row_stride = q.stride(1);
  params.b = batch; params.seqlen_q = seqlen; params.d = d; params.is_causal = is_causal;
  params.is_bf16 = q_type == torch::headeronly::ScalarType::BFloat16;
  params.scale_softmax = softmax_scale_.value_or(1.0 / sqrt(double(d)));
  if (cu_seqlens_q_.has_value()) params.cu_seqlens_q = static_cast<int*>(cu_seqlens_q_->data_ptr());
  void* stream_ptr = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(q.get_device_index(), &stream_ptr));
  cudaStream_t stream = static_cast<cudaStream_t>(stream_ptr);
  if (params.is_bf16) run_attend<__nv_bfloat16>(params, stream); else run_attend<__half>(params, stream);
  return {out, lse, {transposed, padded}};
}

void boxed_attend(StableIValue* stack, uint64_t num_args, uint64_t num_outputs) {
  auto q = torch::stable::detail::to<Tensor>(stack[0]);
  auto out = torch::stable::detail::to<std::optional<Tensor>>(stack[1]);
  auto cu = torch::stable::detail::to<std::optional<Tensor>>(stack[2]);
  auto scale = torch::stable::detail::to<std::optional<double>>(stack[3]);
  auto causal = torch::stable::detail::to<bool>(stack[4]);
  auto window = torch::stable::detail::to<int64_t>(stack[5]);
  auto [o, lse, rest] = attend(q, out, cu, scale, causal, window);
  stack[0] = torch::stable::detail::from(o);
  stack[1] = torch::stable::detail::from(lse);
}

extern "C" {
PyObject* PyInit__C(void) {
  static struct PyModuleDef module_def = { PyModuleDef_HEAD_INIT, "_C", NULL, -1, NULL, };
  return PyModule_Create(&module_def);
}
}

STABLE_TORCH_LIBRARY(demo_attention, m) { m.def("fwd(Tensor q, Tensor(out!)? out, Tensor? cu, float? scale, bool causal, int window) -> (Tensor, Tensor, Tensor[])"); }
STABLE_TORCH_LIBRARY_IMPL(demo_attention, CUDA, m) { m.impl("fwd", &boxed_attend); }
