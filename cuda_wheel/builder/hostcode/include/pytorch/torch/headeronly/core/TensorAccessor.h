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

template <typename T>
struct DefaultPtrTraits {
  typedef T* PtrType;
};
template <typename T>
struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};

namespace detail {

template <class ArrayRefCls, typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits,
          typename index_t = int64_t>
class TensorAccessorBase {
 public:
  typedef typename PtrTraits<T>::PtrType PtrType;

  C10_HOST_DEVICE TensorAccessorBase(PtrType data, const index_t* sizes, const index_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST ArrayRefCls sizes() const { return ArrayRefCls(sizes_, N); }
  C10_HOST ArrayRefCls strides() const { return ArrayRefCls(strides_, N); }
  C10_HOST_DEVICE index_t stride(index_t i) const { return strides_[i]; }
  C10_HOST_DEVICE index_t size(index_t i) const { return sizes_[i]; }
  C10_HOST_DEVICE PtrType data() { return data_; }
  C10_HOST_DEVICE const PtrType data() const { return data_; }

 protected:
  PtrType data_;
  const index_t* sizes_;
  const index_t* strides_;
};

template <class ArrayRefCls, typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits,
          typename index_t = int64_t>
class TensorAccessor : public TensorAccessorBase<ArrayRefCls, T, N, PtrTraits, index_t> {
  typedef TensorAccessor<ArrayRefCls, T, N - 1, PtrTraits, index_t> Row;

 public:
  typedef typename PtrTraits<T>::PtrType PtrType;

  C10_HOST_DEVICE TensorAccessor(PtrType data, const index_t* sizes, const index_t* strides)
      : TensorAccessorBase<ArrayRefCls, T, N, PtrTraits, index_t>(data, sizes, strides) {}
  C10_HOST_DEVICE Row operator[](index_t i) {
    return Row(this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1);
  }
  C10_HOST_DEVICE const Row operator[](index_t i) const {
    return Row(this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1);
  }
};

template <class ArrayRefCls, typename T, template <typename U> class PtrTraits, typename index_t>
class TensorAccessor<ArrayRefCls, T, 1, PtrTraits, index_t>
    : public TensorAccessorBase<ArrayRefCls, T, 1, PtrTraits, index_t> {
 public:
  typedef typename PtrTraits<T>::PtrType PtrType;

  C10_HOST_DEVICE TensorAccessor(PtrType data, const index_t* sizes, const index_t* strides)
      : TensorAccessorBase<ArrayRefCls, T, 1, PtrTraits, index_t>(data, sizes, strides) {}
  C10_HOST_DEVICE T& operator[](index_t i) { return this->data_[this->strides_[0] * i]; }
  C10_HOST_DEVICE const T& operator[](index_t i) const { return this->data_[this->strides_[0] * i]; }
};

// Only host code makes packed accessors, so their constructors are declared alone.
template <typename IndexBoundsCheck, typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits,
          typename index_t = int64_t>
class GenericPackedTensorAccessorBase {
 public:
  typedef typename PtrTraits<T>::PtrType PtrType;

  C10_HOST GenericPackedTensorAccessorBase(PtrType data, const index_t* sizes, const index_t* strides);
  template <typename source_index_t, class = std::enable_if_t<std::is_same<source_index_t, int64_t>::value>>
  C10_HOST GenericPackedTensorAccessorBase(PtrType data, const source_index_t* sizes, const source_index_t* strides);

  C10_HOST_DEVICE index_t stride(index_t i) const { return strides_[i]; }
  C10_HOST_DEVICE index_t size(index_t i) const { return sizes_[i]; }
  C10_HOST_DEVICE PtrType data() { return data_; }
  C10_HOST_DEVICE const PtrType data() const { return data_; }

 protected:
  PtrType data_;
  index_t sizes_[N];
  index_t strides_[N];
  C10_HOST void bounds_check_(index_t i) const;
};

template <typename ItemAccessor, typename IndexBoundsCheck, typename T, size_t N,
          template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
class GenericPackedTensorAccessor
    : public GenericPackedTensorAccessorBase<IndexBoundsCheck, T, N, PtrTraits, index_t> {
 public:
  typedef typename PtrTraits<T>::PtrType PtrType;

  C10_HOST GenericPackedTensorAccessor(PtrType data, const index_t* sizes, const index_t* strides);
  template <typename source_index_t, class = std::enable_if_t<std::is_same<source_index_t, int64_t>::value>>
  C10_HOST GenericPackedTensorAccessor(PtrType data, const source_index_t* sizes, const source_index_t* strides);

  C10_DEVICE ItemAccessor operator[](index_t i) {
    return ItemAccessor(this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1);
  }
  C10_DEVICE const ItemAccessor operator[](index_t i) const {
    return ItemAccessor(this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1);
  }
  C10_HOST GenericPackedTensorAccessor transpose(index_t a, index_t b) const;
};

template <typename ItemAccessor, typename IndexBoundsCheck, typename T, template <typename U> class PtrTraits,
          typename index_t>
class GenericPackedTensorAccessor<ItemAccessor, IndexBoundsCheck, T, 1, PtrTraits, index_t>
    : public GenericPackedTensorAccessorBase<IndexBoundsCheck, T, 1, PtrTraits, index_t> {
 public:
  typedef typename PtrTraits<T>::PtrType PtrType;

  C10_HOST GenericPackedTensorAccessor(PtrType data, const index_t* sizes, const index_t* strides);
  template <typename source_index_t, class = std::enable_if_t<std::is_same<source_index_t, int64_t>::value>>
  C10_HOST GenericPackedTensorAccessor(PtrType data, const source_index_t* sizes, const source_index_t* strides);

  C10_DEVICE T& operator[](index_t i) { return this->data_[this->strides_[0] * i]; }
  C10_DEVICE const T& operator[](index_t i) const { return this->data_[this->strides_[0] * i]; }
  C10_HOST GenericPackedTensorAccessor transpose(index_t a, index_t b) const;
};

template <size_t N, typename index_t>
struct HeaderOnlyIndexBoundsCheck {
  HeaderOnlyIndexBoundsCheck(index_t i);
};

}

template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using HeaderOnlyTensorAccessorBase = detail::TensorAccessorBase<IntHeaderOnlyArrayRef, T, N, PtrTraits, index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using HeaderOnlyTensorAccessor = detail::TensorAccessor<IntHeaderOnlyArrayRef, T, N, PtrTraits, index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using HeaderOnlyGenericPackedTensorAccessorBase =
    detail::GenericPackedTensorAccessorBase<detail::HeaderOnlyIndexBoundsCheck<N, index_t>, T, N, PtrTraits, index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using HeaderOnlyGenericPackedTensorAccessor =
    detail::GenericPackedTensorAccessor<HeaderOnlyTensorAccessor<T, N - 1, PtrTraits, index_t>,
                                        detail::HeaderOnlyIndexBoundsCheck<N, index_t>, T, N, PtrTraits, index_t>;

}
}

#endif
