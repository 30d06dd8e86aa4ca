// at::native::fastAtomicAdd: gpuAtomicAdd that adds a Half or BFloat16 as a pair with zero, which GPUs do faster.
#ifndef CUDA_WHEEL_PYTORCH_NATIVE_KERNEL_UTILS_CUH
#define CUDA_WHEEL_PYTORCH_NATIVE_KERNEL_UTILS_CUH

#include <ATen/cuda/Atomic.cuh>
#include <cstdint>
#include <type_traits>

namespace cuda_wheel_detail {

__device__ __forceinline__ __half zero_of(__half) { return __int2half_rz(0); }
__device__ __forceinline__ __nv_bfloat16 zero_of(__nv_bfloat16) { return __int2bfloat16_rz(0); }

// Adds a value of two bytes with the value beside it in the same aligned word, if that belongs to the tensor too.
template <typename Pair, typename Value, typename T, typename Index>
__device__ __forceinline__ void add_as_pair(T* tensor, Index index, const Index numel, Value value) {
  Value* const address = reinterpret_cast<Value*>(tensor + index);
  const bool low = reinterpret_cast<uintptr_t>(address) % sizeof(Pair) == 0;
  if (low && index < (numel - 1)) {
    Pair pair;
    pair.x = value;
    pair.y = zero_of(value);
    atomicAdd(reinterpret_cast<Pair*>(address), pair);
  } else if (!low && index > 0) {
    Pair pair;
    pair.x = zero_of(value);
    pair.y = value;
    atomicAdd(reinterpret_cast<Pair*>(address - 1), pair);
  } else {
    atomicAdd(address, value);
  }
}

}

namespace at {
namespace native {

__device__ __forceinline__ size_t idx(const size_t nc, const size_t height, const size_t width, const size_t h,
                                      const size_t w) {
  return (nc * height + h) * width + w;
}
__device__ __forceinline__ size_t idx_cl(const size_t n, const size_t h, const size_t w, const size_t c,
                                         const size_t height, const size_t width, const size_t channel) {
  return ((n * height + h) * width + w) * channel + c;
}

template <typename scalar_t, typename index_t>
__device__ __forceinline__ void fastSpecializedAtomicAdd(scalar_t* tensor, index_t index, const index_t numel,
                                                         scalar_t value) {
#if __CUDA_ARCH__ >= 700
  if constexpr (std::is_same<scalar_t, c10::Half>::value) {
    cuda_wheel_detail::add_as_pair<__half2>(tensor, index, numel, static_cast<__half>(value));
    return;
  }
#endif
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same<scalar_t, c10::BFloat16>::value) {
    cuda_wheel_detail::add_as_pair<__nv_bfloat162>(tensor, index, numel, *reinterpret_cast<__nv_bfloat16*>(&value));
    return;
  }
#endif
  gpuAtomicAddNoReturn(tensor + index, value);
}

template <class scalar_t, class index_t>
__device__ __forceinline__ void fastAtomicAdd(scalar_t* tensor, index_t index, const index_t numel, scalar_t value,
                                              bool fast_atomics) {
  if (fast_atomics) {
    fastSpecializedAtomicAdd(tensor, index, numel, value);
  } else {
    gpuAtomicAddNoReturn(tensor + index, value);
  }
}

}
}

#endif
