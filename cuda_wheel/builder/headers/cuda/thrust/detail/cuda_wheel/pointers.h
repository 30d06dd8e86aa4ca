// Thrust's pointers to the GPU's memory, its references and the iterators of its vectors. They have Thrust's names and
// sizes, and device code can use them as it can Thrust's.
#ifndef CUDA_WHEEL_THRUST_POINTERS_H
#define CUDA_WHEEL_THRUST_POINTERS_H

#include <cuda/std/__iterator/iterator_traits.h>  // the tags that Thrust's other iterators know
#include <iterator>
#include <stddef.h>
#include <thrust/detail/config/namespace.h>

THRUST_NAMESPACE_BEGIN

template <class Type> class device_ptr;
template <class Type> class device_reference;

namespace detail {
namespace cuda_wheel {
template <class Type> struct without_const { typedef Type type; };
template <class Type> struct without_const<const Type> { typedef Type type; };
template <class One, class Other> struct is_same { enum : bool { value = false }; };
template <class Type> struct is_same<Type, Type> { enum : bool { value = true }; };
template <bool, class Type = int> struct when {};
template <class Type> struct when<true, Type> { typedef Type type; };

template <class Pointer> struct raw_pointer { typedef typename Pointer::raw_pointer type; };
template <class Type> struct raw_pointer<Type*> { typedef Type* type; };

// No type for what is no iterator, so that (int, int) chooses another overload
template <class Type> struct exists { typedef void type; };
template <class Iterator, class = void> struct value {};
template <class Iterator> struct value<Iterator, typename exists<typename Iterator::value_type>::type> { typedef typename Iterator::value_type type; };
template <class Type> struct value<Type*, void> { typedef typename without_const<Type>::type type; };
}
}

template <class Type> __host__ __device__ Type* raw_pointer_cast(Type* pointer) { return pointer; }
template <class Pointer>
__host__ __device__ typename detail::cuda_wheel::raw_pointer<Pointer>::type raw_pointer_cast(const Pointer& pointer) { return pointer.get(); }

template <class Type>
class device_reference {
  Type* pointer_;

 public:
  typedef typename detail::cuda_wheel::without_const<Type>::type value_type;
  typedef device_ptr<Type> pointer;
  typedef device_reference wrapped_reference_hint;  // so that Thrust's raw_reference_cast knows it

  __host__ __device__ explicit device_reference(const device_ptr<Type>& pointer) : pointer_(pointer.get()) {}
  __host__ __device__ device_reference(const device_reference& other) : pointer_(other.pointer_) {}
  template <class Other, typename detail::cuda_wheel::when<detail::cuda_wheel::is_same<const Other, Type>::value>::type = 0>
  __host__ __device__ device_reference(const device_reference<Other>& other) : pointer_((&other).get()) {}

  __host__ __device__ device_ptr<Type> operator&() const { return device_ptr<Type>(pointer_); }
  __host__ __device__ operator value_type() const { return *pointer_; }

  __host__ __device__ const device_reference& operator=(const value_type& value) const { return *pointer_ = value, *this; }
  __host__ __device__ device_reference& operator=(const value_type& value) { return *pointer_ = value, *this; }
  __host__ __device__ device_reference& operator=(const device_reference& other) { return *pointer_ = *other.pointer_, *this; }
  template <class Other>
  __host__ __device__ device_reference& operator=(const device_reference<Other>& other) { return *pointer_ = value_type(Other(other)), *this; }

#define CUDA_WHEEL_ASSIGNMENT(operation) \
  template <class Other>                 \
  __host__ __device__ device_reference& operator operation(const Other& value) { return *pointer_ operation value, *this; }
  CUDA_WHEEL_ASSIGNMENT(+=)
  CUDA_WHEEL_ASSIGNMENT(-=)
  CUDA_WHEEL_ASSIGNMENT(*=)
  CUDA_WHEEL_ASSIGNMENT(/=)
  CUDA_WHEEL_ASSIGNMENT(%=)
  CUDA_WHEEL_ASSIGNMENT(<<=)
  CUDA_WHEEL_ASSIGNMENT(>>=)
  CUDA_WHEEL_ASSIGNMENT(&=)
  CUDA_WHEEL_ASSIGNMENT(|=)
  CUDA_WHEEL_ASSIGNMENT(^=)
#undef CUDA_WHEEL_ASSIGNMENT
  __host__ __device__ device_reference& operator++() { return ++*pointer_, *this; }
  __host__ __device__ device_reference& operator--() { return --*pointer_, *this; }
  __host__ __device__ value_type operator++(int) { return (*pointer_)++; }
  __host__ __device__ value_type operator--(int) { return (*pointer_)--; }
  __host__ __device__ void swap(device_reference other) {
    value_type held = *pointer_;
    *pointer_ = *other.pointer_;
    *other.pointer_ = held;
  }
};

// The operators of an iterator that moves `member` by numbers of elements.
#define CUDA_WHEEL_STEPS(Iterator, member)                                                                      \
  __host__ __device__ Iterator& operator++() { return ++member, *this; }                                        \
  __host__ __device__ Iterator& operator--() { return --member, *this; }                                        \
  __host__ __device__ Iterator operator++(int) { Iterator held(*this); ++member; return held; }                 \
  __host__ __device__ Iterator operator--(int) { Iterator held(*this); --member; return held; }                 \
  __host__ __device__ Iterator& operator+=(ptrdiff_t count) { return member += count, *this; }                  \
  __host__ __device__ Iterator& operator-=(ptrdiff_t count) { return member -= count, *this; }                  \
  __host__ __device__ Iterator operator+(ptrdiff_t count) const { return Iterator(member + count); }            \
  __host__ __device__ Iterator operator-(ptrdiff_t count) const { return Iterator(member - count); }            \
  friend __host__ __device__ Iterator operator+(ptrdiff_t count, const Iterator& it) { return it + count; }     \
  friend __host__ __device__ ptrdiff_t operator-(const Iterator& a, const Iterator& b) { return a.member - b.member; } \
  friend __host__ __device__ bool operator==(const Iterator& a, const Iterator& b) { return a.member == b.member; }    \
  friend __host__ __device__ bool operator!=(const Iterator& a, const Iterator& b) { return a.member != b.member; }    \
  friend __host__ __device__ bool operator<(const Iterator& a, const Iterator& b) { return a.member < b.member; }      \
  friend __host__ __device__ bool operator>(const Iterator& a, const Iterator& b) { return a.member > b.member; }      \
  friend __host__ __device__ bool operator<=(const Iterator& a, const Iterator& b) { return a.member <= b.member; }    \
  friend __host__ __device__ bool operator>=(const Iterator& a, const Iterator& b) { return a.member >= b.member; }

template <class Type>
class device_ptr {
  Type* pointer_;

 public:
  typedef Type element_type;
  typedef typename detail::cuda_wheel::without_const<Type>::type value_type;
  typedef device_ptr pointer;
  typedef Type* raw_pointer;
  typedef device_reference<Type> reference;
  typedef ptrdiff_t difference_type;
  typedef ::cuda::std::random_access_iterator_tag iterator_category;
  template <class Other> struct rebind { typedef device_ptr<Other> other; };

  __host__ __device__ device_ptr() : pointer_() {}
  __host__ __device__ device_ptr(decltype(nullptr)) : pointer_() {}
  template <class Other> __host__ __device__ explicit device_ptr(Other* pointer) : pointer_(pointer) {}
  template <class Other, class = decltype(static_cast<Type*>(static_cast<Other*>(nullptr)))>
  __host__ __device__ device_ptr(const device_ptr<Other>& other) : pointer_(other.get()) {}

  __host__ __device__ Type* get() const { return pointer_; }
  __host__ __device__ Type* operator->() const { return pointer_; }
  template <class Reference = device_reference<Type>> __host__ __device__ Reference operator*() const { return Reference(*this); }
  template <class Reference = device_reference<Type>> __host__ __device__ Reference operator[](ptrdiff_t index) const { return Reference(*this + index); }
  __host__ __device__ explicit operator bool() const { return pointer_ != nullptr; }
  CUDA_WHEEL_STEPS(device_ptr, pointer_)
};

template <> class device_ptr<void> {
  void* pointer_;

 public:
  typedef void element_type;
  typedef void* raw_pointer;
  __host__ __device__ device_ptr() : pointer_() {}
  __host__ __device__ device_ptr(decltype(nullptr)) : pointer_() {}
  __host__ __device__ explicit device_ptr(void* pointer) : pointer_(pointer) {}
  template <class Other> __host__ __device__ device_ptr(const device_ptr<Other>& other) : pointer_(other.get()) {}
  __host__ __device__ void* get() const { return pointer_; }
};

template <class Type> __host__ __device__ device_ptr<Type> device_pointer_cast(Type* pointer) { return device_ptr<Type>(pointer); }
template <class Type> __host__ __device__ device_ptr<Type> device_pointer_cast(const device_ptr<Type>& pointer) { return pointer; }
template <class To, class From> __host__ __device__ To reinterpret_pointer_cast(const From& from) {
  return To(reinterpret_cast<typename detail::cuda_wheel::raw_pointer<To>::type>(thrust::raw_pointer_cast(from)));
}
template <class To, class From> __host__ __device__ To static_pointer_cast(const From& from) {
  return To(static_cast<typename detail::cuda_wheel::raw_pointer<To>::type>(thrust::raw_pointer_cast(from)));
}

namespace detail {
template <class Pointer>
class normal_iterator {
  Pointer pointer_;

 public:
  typedef typename cuda_wheel::value<Pointer>::type value_type;
  typedef decltype(*Pointer()) reference;
  typedef Pointer pointer;
  typedef typename cuda_wheel::raw_pointer<Pointer>::type raw_pointer;
  typedef ptrdiff_t difference_type;
  typedef ::cuda::std::random_access_iterator_tag iterator_category;

  __host__ __device__ normal_iterator() : pointer_() {}
  __host__ __device__ explicit normal_iterator(const Pointer& pointer) : pointer_(pointer) {}
  template <class Other, class = decltype(static_cast<raw_pointer>(static_cast<typename normal_iterator<Other>::raw_pointer>(nullptr)))>
  __host__ __device__ normal_iterator(const normal_iterator<Other>& other) : pointer_(other.base()) {}

  __host__ __device__ const Pointer& base() const { return pointer_; }
  __host__ __device__ raw_pointer get() const { return thrust::raw_pointer_cast(pointer_); }
  __host__ __device__ reference operator*() const { return *pointer_; }
  __host__ __device__ raw_pointer operator->() const { return get(); }
  __host__ __device__ reference operator[](ptrdiff_t index) const { return *(pointer_ + index); }
  CUDA_WHEEL_STEPS(normal_iterator, pointer_)
};

template <class Pointer> __host__ __device__ normal_iterator<Pointer> make_normal_iterator(Pointer pointer) { return normal_iterator<Pointer>(pointer); }
}
#undef CUDA_WHEEL_STEPS

device_ptr<void> device_malloc(size_t bytes);
template <class Type> device_ptr<Type> device_malloc(size_t count);
void device_free(device_ptr<void> pointer);
template <class Type> device_ptr<Type> device_new(size_t count);
template <class Type> device_ptr<Type> device_new(device_ptr<void> place, size_t count);
template <class Type> void device_delete(device_ptr<Type> pointer, size_t count = 0);

template <class Type> __host__ __device__ void swap(device_reference<Type> a, device_reference<Type> b) { a.swap(b); }

THRUST_NAMESPACE_END

#endif
