// Accessors of tensors' elements: a pointer with sizes and strides, by reference or packed for a kernel's parameters.
#ifndef CUDA_WHEEL_PYTORCH_HEADERONLY_TENSOR_ACCESSOR_H
#define CUDA_WHEEL_PYTORCH_HEADERONLY_TENSOR_ACCESSOR_H

#include <cstddef>
#include <cstdint>
#include <torch/headeronly/macros/Macros.h>
#include <type_traits>

namespace c10 {
template <typename T>
class HeaderOnlyArrayRef;
}

namespace torch {
namespace headeronly {

using c10::HeaderOnlyArrayRef;
using IntHeaderOnlyArrayRef = HeaderOnlyArrayRef<int64_t>;

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

namespace detail {

// The parameters of the templates: what the element type's pointer is, and the type of sizes and strides.
#define CUDA_WHEEL_ACCESSOR_PARAMETERS \
  class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t
#define CUDA_WHEEL_ACCESSOR_TYPES(Constructed, SPACE)                                    \
  using PtrType = typename Traits<T>::PtrType;                                           \
  SPACE Constructed(PtrType data, const Index* sizes, const Index* strides)

// What an index of the first dimension selects: an accessor of the other dimensions, or an element if there is no other.
template <class Row, class T, bool has_more>
struct Selected {
  using Value = Row;
  using Constant = const Row;
  template <class Pointer, class Index>
  static C10_HOST_DEVICE Row at(Pointer data, const Index* sizes, const Index* strides, Index i) {
    return Row(data + *strides * i, sizes + 1, strides + 1);
  }
};
template <class Row, class T>
struct Selected<Row, T, false> {
  using Value = T&;
  using Constant = const T&;
  template <class Pointer, class Index>
  static C10_HOST_DEVICE T& at(Pointer data, const Index*, const Index* strides, Index i) {
    return data[*strides * i];
  }
};

// By reference: sizes and strides are the tensor's.
template <class Refs, CUDA_WHEEL_ACCESSOR_PARAMETERS>
class TensorAccessorBase {
 public:
  CUDA_WHEEL_ACCESSOR_TYPES(TensorAccessorBase, C10_HOST_DEVICE) : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE Index size(Index dimension) const { return sizes_[dimension]; }
  C10_HOST_DEVICE Index stride(Index dimension) const { return strides_[dimension]; }
  C10_HOST_DEVICE PtrType data() { return data_; }
  C10_HOST_DEVICE const PtrType data() const { return data_; }
  C10_HOST Refs sizes() const { return Refs(sizes_, N); }
  C10_HOST Refs strides() const { return Refs(strides_, N); }

 protected:
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

template <class Refs, CUDA_WHEEL_ACCESSOR_PARAMETERS>
class TensorAccessor : public TensorAccessorBase<Refs, T, N, Traits, Index> {
  using Base = TensorAccessorBase<Refs, T, N, Traits, Index>;
  using Item = Selected<TensorAccessor<Refs, T, N - 1, Traits, Index>, T, (N > 1)>;

 public:
  CUDA_WHEEL_ACCESSOR_TYPES(TensorAccessor, C10_HOST_DEVICE) : Base(data, sizes, strides) {}
  C10_HOST_DEVICE typename Item::Value operator[](Index i) {
    return Item::at(this->data_, this->sizes_, this->strides_, i);
  }
  C10_HOST_DEVICE typename Item::Constant operator[](Index i) const {
    return Item::at(this->data_, this->sizes_, this->strides_, i);
  }
};

// Packed: sizes and strides are in the accessor, which is a parameter of a kernel. Only host code makes one, so that the
// constructors are declared alone.
template <class Check, CUDA_WHEEL_ACCESSOR_PARAMETERS>
class GenericPackedTensorAccessorBase {
 public:
  CUDA_WHEEL_ACCESSOR_TYPES(GenericPackedTensorAccessorBase, C10_HOST);
  template <class Wide, class = std::enable_if_t<std::is_same<Wide, int64_t>::value>>
  C10_HOST GenericPackedTensorAccessorBase(PtrType data, const Wide* sizes, const Wide* strides);

  C10_HOST_DEVICE Index size(Index dimension) const { return sizes_[dimension]; }
  C10_HOST_DEVICE Index stride(Index dimension) const { return strides_[dimension]; }
  C10_HOST_DEVICE PtrType data() { return data_; }
  C10_HOST_DEVICE const PtrType data() const { return data_; }

 protected:
  C10_HOST void bounds_check_(Index dimension) const;
  PtrType data_;
  Index sizes_[N];
  Index strides_[N];
};

template <class Row, class Check, CUDA_WHEEL_ACCESSOR_PARAMETERS>
class GenericPackedTensorAccessor : public GenericPackedTensorAccessorBase<Check, T, N, Traits, Index> {
  using Item = Selected<Row, T, (N > 1)>;

 public:
  CUDA_WHEEL_ACCESSOR_TYPES(GenericPackedTensorAccessor, C10_HOST);
  template <class Wide, class = std::enable_if_t<std::is_same<Wide, int64_t>::value>>
  C10_HOST GenericPackedTensorAccessor(PtrType data, const Wide* sizes, const Wide* strides);

  C10_DEVICE typename Item::Value operator[](Index i) {
    return Item::at(this->data_, this->sizes_, this->strides_, i);
  }
  C10_DEVICE typename Item::Constant operator[](Index i) const {
    return Item::at(this->data_, this->sizes_, this->strides_, i);
  }
  C10_HOST GenericPackedTensorAccessor transpose(Index first, Index second) const;
};

template <size_t N, class Index>
struct HeaderOnlyIndexBoundsCheck {
  HeaderOnlyIndexBoundsCheck(Index);
};

}

// The accessors whose sizes are an array reference `Refs`, with a name before theirs.
#define CUDA_WHEEL_ACCESSORS(Prefix, Refs, Check)                                                                   \
  template <CUDA_WHEEL_ACCESSOR_PARAMETERS>                                                                         \
  using Prefix##TensorAccessorBase = torch::headeronly::detail::TensorAccessorBase<Refs, T, N, Traits, Index>;      \
  template <CUDA_WHEEL_ACCESSOR_PARAMETERS>                                                                         \
  using Prefix##TensorAccessor = torch::headeronly::detail::TensorAccessor<Refs, T, N, Traits, Index>;              \
  template <CUDA_WHEEL_ACCESSOR_PARAMETERS>                                                                         \
  using Prefix##GenericPackedTensorAccessorBase =                                                                   \
      torch::headeronly::detail::GenericPackedTensorAccessorBase<Check<N, Index>, T, N, Traits, Index>;             \
  template <CUDA_WHEEL_ACCESSOR_PARAMETERS>                                                                         \
  using Prefix##GenericPackedTensorAccessor = torch::headeronly::detail::GenericPackedTensorAccessor<               \
      Prefix##TensorAccessor<T, N - 1, Traits, Index>, Check<N, Index>, T, N, Traits, Index>;
CUDA_WHEEL_ACCESSORS(HeaderOnly, IntHeaderOnlyArrayRef, detail::HeaderOnlyIndexBoundsCheck)

}
}

#endif
