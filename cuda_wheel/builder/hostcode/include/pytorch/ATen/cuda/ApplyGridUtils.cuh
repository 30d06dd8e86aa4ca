// ATenCeilDiv, and the grid and block of PyTorch's pointwise kernels.
#ifndef CUDA_WHEEL_PYTORCH_APPLY_GRID_UTILS_CUH
#define CUDA_WHEEL_PYTORCH_APPLY_GRID_UTILS_CUH

#include <ATen/cuda/CUDAContext.h>
#include <c10/macros/Macros.h>
#include <cstdint>
#include <cuda_runtime.h>

namespace at {
namespace cuda {

template <typename T>
__host__ __device__ __forceinline__ T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}

constexpr uint32_t AT_APPLY_THREADS_PER_BLOCK = 512;
constexpr uint32_t AT_APPLY_BLOCKS_PER_SM = 4;
constexpr int getApplyBlocksPerSM() { return AT_APPLY_BLOCKS_PER_SM; }
constexpr int getApplyBlockSize() { return AT_APPLY_THREADS_PER_BLOCK; }

template <int step = 1>
bool getApplyGrid(uint64_t totalElements, dim3& grid, int8_t curDevice,
                  int max_threads_per_block = AT_APPLY_THREADS_PER_BLOCK);
dim3 getApplyBlock(int max_threads_per_block = AT_APPLY_THREADS_PER_BLOCK);

}
}

#endif
