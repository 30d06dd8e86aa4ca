// <ATen/native/TensorFactories.h>: what the functions that make tensors check and fill.
#ifndef CUDA_WHEEL_ATEN_NATIVE_TENSOR_FACTORIES_H
#define CUDA_WHEEL_ATEN_NATIVE_TENSOR_FACTORIES_H

#include <cuda_wheel_detail/pytorch/aten.h>

namespace at {
namespace native {
int64_t get_tril_size(int64_t rows, int64_t columns, int64_t offset);
void check_args(int64_t rows, int64_t columns, std::optional<c10::Layout>);
void check_supported_max_int_with_precision(int64_t, const Tensor&);
Tensor& fill_empty_deterministic_(Tensor&);
} // namespace native
} // namespace at

#endif
