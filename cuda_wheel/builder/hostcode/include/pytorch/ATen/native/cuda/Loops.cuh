// at::native::gpu_kernel and kin. PyTorch launches its own elementwise kernels here; the stand-in has none.
#ifndef CUDA_WHEEL_PYTORCH_LOOPS_CUH
#define CUDA_WHEEL_PYTORCH_LOOPS_CUH

#include <ATen/OpMathType.h>
#include <ATen/cuda/detail/OffsetCalculator.cuh>
#include <ATen/detail/FunctionTraits.h>
#include <ATen/native/cuda/MemoryAccess.cuh>
#include <ATen/native/cuda/thread_constants.h>

namespace at {
namespace native {

#define CUDA_WHEEL_NO_ELEMENTWISE_KERNEL(name)                                                                   \
  static_assert(sizeof(func_t) == 0,                                                                             \
                #name " launches kernels of PyTorch itself, which cuda-wheel does not compile. Write a kernel "   \
                      "with a loop over the elements (CUDA_KERNEL_LOOP), and launch that.")

template <typename func_t>
void gpu_kernel_nocast(TensorIteratorBase&, const func_t&) {
  CUDA_WHEEL_NO_ELEMENTWISE_KERNEL(gpu_kernel_nocast);
}
template <typename func_t>
void gpu_kernel(TensorIteratorBase&, const func_t&) {
  CUDA_WHEEL_NO_ELEMENTWISE_KERNEL(gpu_kernel);
}
template <typename func_t>
void gpu_kernel_with_scalars(TensorIteratorBase&, const func_t&) {
  CUDA_WHEEL_NO_ELEMENTWISE_KERNEL(gpu_kernel_with_scalars);
}
template <typename arg1_t, typename arg2_t = arg1_t, typename return_t = arg1_t, typename func_t>
void opmath_gpu_kernel_with_scalars(TensorIteratorBase&, const func_t&) {
  CUDA_WHEEL_NO_ELEMENTWISE_KERNEL(opmath_gpu_kernel_with_scalars);
}
template <typename scalar_t, typename return_t = scalar_t, typename func_t>
void opmath_symmetric_gpu_kernel_with_scalars(TensorIteratorBase&, const func_t&) {
  CUDA_WHEEL_NO_ELEMENTWISE_KERNEL(opmath_symmetric_gpu_kernel_with_scalars);
}
template <typename func_t>
void gpu_kernel_multiple_outputs(TensorIteratorBase&, const func_t&) {
  CUDA_WHEEL_NO_ELEMENTWISE_KERNEL(gpu_kernel_multiple_outputs);
}
#undef CUDA_WHEEL_NO_ELEMENTWISE_KERNEL

}
}

#endif
