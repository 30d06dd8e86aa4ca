// Bit fields by PTX instructions, the lane of a thread, and masks of the lanes beside it.
#ifndef CUDA_WHEEL_PYTORCH_ASM_UTILS_CUH
#define CUDA_WHEEL_PYTORCH_ASM_UTILS_CUH

#include <cstdint>

namespace at {
namespace cuda {

template <typename T>
struct Bitfield {};

template <>
struct Bitfield<unsigned int> {
  static __device__ __host__ __forceinline__ unsigned int getBitfield(unsigned int val, int pos, int len) {
    unsigned int field;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(field) : "r"(val), "r"(pos), "r"(len));
    return field;
  }
  static __device__ __host__ __forceinline__ unsigned int setBitfield(unsigned int val, unsigned int toInsert, int pos,
                                                                      int len) {
    unsigned int result;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(toInsert), "r"(val), "r"(pos), "r"(len));
    return result;
  }
};

template <>
struct Bitfield<uint64_t> {
  static __device__ __host__ __forceinline__ uint64_t getBitfield(uint64_t val, int pos, int len) {
    uint64_t field;
    asm("bfe.u64 %0, %1, %2, %3;" : "=l"(field) : "l"(val), "r"(pos), "r"(len));
    return field;
  }
  static __device__ __host__ __forceinline__ uint64_t setBitfield(uint64_t val, uint64_t toInsert, int pos, int len) {
    uint64_t result;
    asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(result) : "l"(toInsert), "l"(val), "r"(pos), "r"(len));
    return result;
  }
};

__device__ __forceinline__ int getLaneId() {
  int lane;
  asm("mov.s32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

#define CUDA_WHEEL_LANE_MASK(name, register_name)                   \
  __device__ __forceinline__ unsigned name() {                      \
    unsigned mask;                                                  \
    asm("mov.u32 %0, %%" register_name ";" : "=r"(mask));           \
    return mask;                                                    \
  }
CUDA_WHEEL_LANE_MASK(getLaneMaskLt, "lanemask_lt")
CUDA_WHEEL_LANE_MASK(getLaneMaskLe, "lanemask_le")
CUDA_WHEEL_LANE_MASK(getLaneMaskGt, "lanemask_gt")
CUDA_WHEEL_LANE_MASK(getLaneMaskGe, "lanemask_ge")
#undef CUDA_WHEEL_LANE_MASK

}
}

#endif
