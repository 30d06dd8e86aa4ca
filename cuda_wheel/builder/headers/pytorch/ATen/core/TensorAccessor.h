// at::TensorAccessor and at::PackedTensorAccessor32/64. Tensor::accessor and packed_accessor32 return them.
#ifndef CUDA_WHEEL_PYTORCH_TENSOR_ACCESSOR_H
#define CUDA_WHEEL_PYTORCH_TENSOR_ACCESSOR_H

#include <c10/macros/Macros.h>
#include <c10/util/Exception.h>
#include <cstddef>
#include <cstdint>
#include <torch/headeronly/core/TensorAccessor.h>
#include <type_traits>

namespace c10 {
template <typename T>
class ArrayRef;
using IntArrayRef = ArrayRef<int64_t>;
}

namespace at {

using torch::headeronly::DefaultPtrTraits;
using torch::headeronly::RestrictPtrTraits;

namespace detail {
template <size_t N, class Index>
struct IndexBoundsCheck {
  IndexBoundsCheck(Index);
};
}

CUDA_WHEEL_ACCESSORS(, c10::IntArrayRef, detail::IndexBoundsCheck)
template <CUDA_WHEEL_ACCESSOR_PARAMETERS>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, Index>;
#define CUDA_WHEEL_PACKED(name, Index)                                                 \
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>       \
  using name = GenericPackedTensorAccessor<T, N, Traits, Index>;
CUDA_WHEEL_PACKED(PackedTensorAccessor32, int32_t)
CUDA_WHEEL_PACKED(PackedTensorAccessor64, int64_t)
#undef CUDA_WHEEL_PACKED

}

#endif
