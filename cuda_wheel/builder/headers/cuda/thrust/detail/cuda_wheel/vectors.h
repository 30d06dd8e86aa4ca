// Thrust's vectors. Their functions are host functions without bodies.
#ifndef CUDA_WHEEL_THRUST_VECTORS_H
#define CUDA_WHEEL_THRUST_VECTORS_H

#include <initializer_list>
#include <thrust/detail/cuda_wheel/errors.h>
#include <thrust/detail/cuda_wheel/pointers.h>

namespace std { template <class> class allocator; }

THRUST_NAMESPACE_BEGIN

template <class Type>
class device_allocator {
 public:
  typedef Type value_type;
  typedef device_ptr<Type> pointer;
  typedef device_ptr<const Type> const_pointer;
  typedef device_reference<Type> reference;
  typedef device_reference<const Type> const_reference;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  template <class Other> struct rebind { typedef device_allocator<Other> other; };
  __host__ __device__ device_allocator() {}
  template <class Other> __host__ __device__ device_allocator(const device_allocator<Other>&) {}
  pointer allocate(size_t count);
  void deallocate(pointer, size_t count);
};
template <class Type> using device_malloc_allocator = device_allocator<Type>;
template <class Type> using device_new_allocator = device_allocator<Type>;
template <class Type> using universal_allocator = std::allocator<Type>;
template <class Type> using universal_ptr = Type*;

namespace detail {
namespace cuda_wheel {
template <class Allocator, class Type> struct pointers { typedef device_ptr<Type> pointer; typedef device_ptr<const Type> const_pointer; };
template <class Other, class Type> struct pointers<std::allocator<Other>, Type> { typedef Type* pointer; typedef const Type* const_pointer; };
}

template <class Type, class Allocator, class Pointer, class ConstPointer>
class vector_base {
 public:
  typedef Type value_type;
  typedef Allocator allocator_type;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  typedef Pointer pointer;
  typedef ConstPointer const_pointer;
  typedef decltype(*Pointer()) reference;
  typedef decltype(*ConstPointer()) const_reference;
  typedef normal_iterator<Pointer> iterator;
  typedef normal_iterator<ConstPointer> const_iterator;
  typedef std::reverse_iterator<iterator> reverse_iterator;
  typedef std::reverse_iterator<const_iterator> const_reverse_iterator;

  void resize(size_type count);
  void resize(size_type count, const Type& value);
  size_type size() const;
  size_type max_size() const;
  void reserve(size_type count);
  size_type capacity() const;
  void shrink_to_fit();
  bool empty() const;
  reference operator[](size_type index);
  const_reference operator[](size_type index) const;
  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;
  const_iterator cbegin() const;
  const_iterator cend() const;
  reverse_iterator rbegin();
  reverse_iterator rend();
  const_reverse_iterator rbegin() const;
  const_reverse_iterator rend() const;
  const_reverse_iterator crbegin() const;
  const_reverse_iterator crend() const;
  reference front();
  const_reference front() const;
  reference back();
  const_reference back() const;
  pointer data();
  const_pointer data() const;
  void clear();
  void push_back(const Type& value);
  void pop_back();
  void swap(vector_base& other);
  iterator erase(iterator position);
  iterator erase(iterator first, iterator last);
  iterator insert(iterator position, const Type& value);
  void insert(iterator position, size_type count, const Type& value);
  template <class Iterator> void insert(iterator position, Iterator first, Iterator last);
  void assign(size_type count, const Type& value);
  template <class Iterator, class = typename cuda_wheel::value<Iterator>::type> void assign(Iterator first, Iterator last);
  allocator_type get_allocator() const;
};

template <class _T, class _A, class _P, class _C, class _U, class _B, class _Q, class _D>
bool operator==(const vector_base<_T, _A, _P, _C>&, const vector_base<_U, _B, _Q, _D>&);
template <class _T, class _A, class _P, class _C, class _U, class _B, class _Q, class _D>
bool operator!=(const vector_base<_T, _A, _P, _C>&, const vector_base<_U, _B, _Q, _D>&);
}

#define CUDA_WHEEL_THRUST_VECTOR(name, Default)                                                                                       \
  template <class Type, class Allocator = Default<Type>>                                                                              \
  class name : public detail::vector_base<Type, Allocator, typename detail::cuda_wheel::pointers<Allocator, Type>::pointer,           \
                                          typename detail::cuda_wheel::pointers<Allocator, Type>::const_pointer> {                    \
   public:                                                                                                                            \
    name();                                                                                                                           \
    explicit name(const Allocator&);                                                                                                  \
    explicit name(size_t count);                                                                                                      \
    name(size_t count, const Allocator&);                                                                                             \
    name(size_t count, const Type& value);                                                                                            \
    name(size_t count, const Type& value, const Allocator&);                                                                          \
    name(const name&);                                                                                                                \
    name(name&&);                                                                                                                     \
    name(std::initializer_list<Type>);                                                                                                \
    template <class Other, class = decltype(static_cast<const Other*>(nullptr)->begin())> name(const Other&);                         \
    template <class Iterator, class = typename detail::cuda_wheel::value<Iterator>::type> name(Iterator, Iterator);                   \
    template <class Iterator, class = typename detail::cuda_wheel::value<Iterator>::type> name(Iterator, Iterator, const Allocator&); \
    ~name();                                                                                                                          \
    name& operator=(const name&);                                                                                                     \
    name& operator=(name&&);                                                                                                          \
    name& operator=(std::initializer_list<Type>);                                                                                     \
    template <class Other, class = decltype(static_cast<const Other*>(nullptr)->begin())> name& operator=(const Other&);              \
  };                                                                                                                                  \
  template <class Type, class Allocator> void swap(name<Type, Allocator>&, name<Type, Allocator>&);
CUDA_WHEEL_THRUST_VECTOR(host_vector, std::allocator)
CUDA_WHEEL_THRUST_VECTOR(device_vector, device_allocator)
#undef CUDA_WHEEL_THRUST_VECTOR
template <class Type, class Allocator = universal_allocator<Type>> using universal_vector = host_vector<Type, Allocator>;


THRUST_NAMESPACE_END

#endif
