// Sums and maxima over a warp and a block. The result of a block's reduction is in its first warp.
#ifndef CUDA_WHEEL_PYTORCH_BLOCK_REDUCE_CUH
#define CUDA_WHEEL_PYTORCH_BLOCK_REDUCE_CUH

#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/native/SharedReduceOps.h>
#include <limits>

namespace at {
namespace native {
namespace cuda_utils {

constexpr int kCUDABlockReduceNumThreads = 512;
constexpr int kCUDABlockReduceMaxThreads() { return C10_WARP_SIZE * C10_WARP_SIZE; }

template <typename T>
__inline__ __device__ T WarpReduceSum(T val) {
#pragma unroll
  for (int offset = (C10_WARP_SIZE >> 1); offset > 0; offset >>= 1) val += WARP_SHFL_DOWN(val, offset);
  return val;
}
template <typename T>
__inline__ __device__ T WarpReduceMax(T val) {
#pragma unroll
  for (int offset = (C10_WARP_SIZE >> 1); offset > 0; offset >>= 1)
    val = max_propagate_nan(val, WARP_SHFL_DOWN(val, offset));
  return val;
}
template <typename T, class ReduceOp>
__inline__ __device__ T WarpReduce(T val, const ReduceOp& op) {
#pragma unroll
  for (int offset = (C10_WARP_SIZE >> 1); offset > 0; offset >>= 1)
    val = op.combine(val, op.warp_shfl_down(val, offset));
  return val;
}

struct Block1D {
  static __forceinline__ __device__ int Tid() { return threadIdx.x; }
  static __forceinline__ __device__ int Warps() { return blockDim.x / C10_WARP_SIZE; }
};
struct Block2D {
  static __forceinline__ __device__ int Tid() { return threadIdx.x + threadIdx.y * blockDim.x; }
  static __forceinline__ __device__ int Warps() { return blockDim.x * blockDim.y / C10_WARP_SIZE; }
};

// Each warp's result goes to shared memory, of one element for a warp, where the first warp reduces them.
#define CUDA_WHEEL_BLOCK_REDUCE(of_warp, identity)     \
  const int tid = B::Tid();                            \
  const int lane = tid % C10_WARP_SIZE;                \
  const int warp = tid / C10_WARP_SIZE;                \
  val = of_warp;                                       \
  __syncthreads();                                     \
  if (lane == 0) shared[warp] = val;                   \
  __syncthreads();                                     \
  val = (tid < B::Warps()) ? shared[lane] : identity;  \
  if (warp == 0) val = of_warp;                        \
  return val;

template <typename T, typename B = Block1D>
__inline__ __device__ T BlockReduceSum(T val, T* shared) {
  CUDA_WHEEL_BLOCK_REDUCE(WarpReduceSum(val), T(0))
}
template <typename T, typename B = Block1D>
__inline__ __device__ T BlockReduceMax(T val, T* shared) {
  CUDA_WHEEL_BLOCK_REDUCE(WarpReduceMax(val), T(std::numeric_limits<T>::lowest()))
}
template <typename T, class ReduceOp, typename B = Block1D>
__inline__ __device__ T BlockReduce(T val, const ReduceOp& op, const T& identity_element, T* shared) {
  CUDA_WHEEL_BLOCK_REDUCE(WarpReduce(val, op), identity_element)
}
#undef CUDA_WHEEL_BLOCK_REDUCE

}
}
}

#endif
