// at::TensorAccessor and at::PackedTensorAccessor32/64. Tensor::accessor and packed_accessor32 return them.
#ifndef CUDA_WHEEL_PYTORCH_TENSOR_ACCESSOR_H
#define CUDA_WHEEL_PYTORCH_TENSOR_ACCESSOR_H

#include <c10/macros/Macros.h>
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
template <size_t N, typename index_t>
struct IndexBoundsCheck {
  IndexBoundsCheck(index_t i);
};
}

template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using TensorAccessorBase = torch::headeronly::detail::TensorAccessorBase<c10::IntArrayRef, T, N, PtrTraits, index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using TensorAccessor = torch::headeronly::detail::TensorAccessor<c10::IntArrayRef, T, N, PtrTraits, index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using GenericPackedTensorAccessorBase =
    torch::headeronly::detail::GenericPackedTensorAccessorBase<detail::IndexBoundsCheck<N, index_t>, T, N, PtrTraits,
                                                               index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using GenericPackedTensorAccessor =
    torch::headeronly::detail::GenericPackedTensorAccessor<TensorAccessor<T, N - 1, PtrTraits, index_t>,
                                                           detail::IndexBoundsCheck<N, index_t>, T, N, PtrTraits,
                                                           index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, PtrTraits, index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, int64_t>;

}

#endif
