// Tensor::data<__half>(), beside data<at::Half>().
#ifndef CUDA_WHEEL_PYTORCH_CUDA_TENSOR_METHODS_CUH
#define CUDA_WHEEL_PYTORCH_CUDA_TENSOR_METHODS_CUH

#include <ATen/Tensor.h>
#include <c10/util/Half.h>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace at {
template <>
__half* Tensor::data() const;
}

#endif
