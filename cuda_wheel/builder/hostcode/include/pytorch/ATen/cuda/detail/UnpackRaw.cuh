// at::cuda::philox::unpack: seed and offset of an at::PhiloxCudaState, in device code.
#ifndef CUDA_WHEEL_PYTORCH_UNPACK_RAW_CUH
#define CUDA_WHEEL_PYTORCH_UNPACK_RAW_CUH

#include <ATen/cuda/detail/PhiloxCudaStateRaw.cuh>
#include <cstdint>
#include <tuple>

namespace at {
namespace cuda {
namespace philox {

__host__ __device__ __forceinline__ std::tuple<uint64_t, uint64_t> unpack(at::PhiloxCudaState arg) {
  if (arg.captured_) {
    return std::make_tuple(static_cast<uint64_t>(*arg.seed_.ptr),
                           static_cast<uint64_t>(*(arg.offset_.ptr) + arg.offset_intragraph_));
  }
  return std::make_tuple(arg.seed_.val, arg.offset_.val);
}

}
}
}

#endif
