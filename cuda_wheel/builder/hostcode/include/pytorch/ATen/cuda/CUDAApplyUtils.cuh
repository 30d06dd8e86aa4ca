// What extensions include CUDAApplyUtils.cuh for. CUDA_tensor_apply2 launches PyTorch's own kernels; there are none here.
#ifndef CUDA_WHEEL_PYTORCH_CUDA_APPLY_UTILS_CUH
#define CUDA_WHEEL_PYTORCH_CUDA_APPLY_UTILS_CUH

#include <ATen/ceil_div.h>
#include <ATen/cuda/ApplyGridUtils.cuh>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <c10/macros/Macros.h>
#include <math.h>

namespace at {
namespace cuda {

enum class TensorArgType { ReadWrite, ReadOnly };

template <typename scalar1, typename scalar2, typename Op, int max_threads_per_block = AT_APPLY_THREADS_PER_BLOCK,
          int min_blocks_per_sm = AT_APPLY_BLOCKS_PER_SM>
bool CUDA_tensor_apply2(const at::TensorBase&, const at::TensorBase&, const Op,
                        TensorArgType = TensorArgType::ReadWrite, TensorArgType = TensorArgType::ReadOnly) {
  static_assert(sizeof(Op) == 0,
                "CUDA_tensor_apply2 launches kernels of PyTorch itself, which cuda-wheel does not compile. Write a "
                "kernel with a loop over the elements (CUDA_KERNEL_LOOP), and launch that.");
  return false;
}

}
}

#endif
