// at::native::memory: aligned vectors of elements, and how wide a vector an address allows.
#ifndef CUDA_WHEEL_PYTORCH_MEMORY_ACCESS_CUH
#define CUDA_WHEEL_PYTORCH_MEMORY_ACCESS_CUH

#include <ATen/native/cuda/thread_constants.h>
#include <c10/macros/Macros.h>
#include <c10/util/Load.h>
#include <c10/util/TypeCast.h>
#include <cstdint>
#include <type_traits>

namespace at {
namespace native {
namespace memory {

template <typename scalar_t, int vec_size>
struct alignas(sizeof(scalar_t) * vec_size) aligned_vector {
  scalar_t val[vec_size];
};

template <int vec_size, typename scalar_t>
__device__ aligned_vector<scalar_t, vec_size> load_vector(const scalar_t* base_ptr, uint32_t offset) {
  return reinterpret_cast<const aligned_vector<scalar_t, vec_size>*>(base_ptr)[offset];
}
// A byte that is neither 0 nor 1 must not be read as a bool.
template <int vec_size>
__device__ aligned_vector<bool, vec_size> load_vector(const bool* base_ptr, uint32_t offset) {
  const auto bytes = load_vector<vec_size>(reinterpret_cast<const uint8_t*>(base_ptr), offset);
  aligned_vector<bool, vec_size> result;
  for (int i = 0; i < vec_size; ++i) result.val[i] = bool(bytes.val[i]);
  return result;
}

struct LoadWithoutCast {
  template <typename scalar_t>
  __device__ scalar_t load(char* base_ptr, uint32_t offset, int) {
    return c10::load(reinterpret_cast<scalar_t*>(base_ptr) + offset);
  }
};
struct StoreWithoutCast {
  template <typename scalar_t>
  __device__ void store(scalar_t value, char* base_ptr, uint32_t offset, int = 0) {
    *(reinterpret_cast<scalar_t*>(base_ptr) + offset) = value;
  }
};

template <typename scalar_t>
inline C10_HOST_DEVICE int can_vectorize_up_to(const char* pointer) {
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  if (address % alignof(aligned_vector<scalar_t, 8>) == 0) return 8;
  if (address % alignof(aligned_vector<scalar_t, 4>) == 0) return 4;
  if (address % alignof(aligned_vector<scalar_t, 2>) == 0) return 2;
  return 1;
}
template <typename scalar_t>
inline C10_HOST_DEVICE int can_vectorize_up_to(char* pointer) {
  return can_vectorize_up_to<scalar_t>(static_cast<const char*>(pointer));
}

}
}
}

#endif
