// What the containers of host code share. They are declared with the sizes, members and types of GCC's library; only
// what constructs or destroys an element has a body, so that the element's constructors and destructor are instantiated.
#ifndef CUDA_WHEEL_DETAIL_CONTAINER_H
#define CUDA_WHEEL_DETAIL_CONTAINER_H

#include "../initializer_list"
#include "../iterator"
#include "allocator.h"
#include "common_algorithms.h"

namespace cuda_wheel_detail {
template <class T> struct element {
  template <class... As> static void construct(As&&... as) { ::new (static_cast<void*>(nullptr)) T(static_cast<As&&>(as)...); }
  static void destroy() { static_cast<T*>(nullptr)->~T(); }
};
// The iterator of a container of nodes
template <class T, class Container, class Category> class node_iterator {
  void* node;

 public:
  typedef Category iterator_category;
  typedef std::remove_const_t<T> value_type;
  typedef std::ptrdiff_t difference_type;
  typedef T* pointer;
  typedef T& reference;
  node_iterator() noexcept;
  template <class U, std::enable_if_t<std::is_same<const U, T>::value && !std::is_same<U, T>::value, int> = 0> node_iterator(const node_iterator<U, Container, Category>& i) noexcept;
  reference operator*() const noexcept;
  pointer operator->() const noexcept;
  node_iterator& operator++() noexcept;
  node_iterator operator++(int) noexcept;
  template <class C = Category, std::enable_if_t<std::is_convertible<C, std::bidirectional_iterator_tag>::value, int> = 0> node_iterator& operator--() noexcept;
  template <class C = Category, std::enable_if_t<std::is_convertible<C, std::bidirectional_iterator_tag>::value, int> = 0> node_iterator operator--(int) noexcept;
  template <class U> bool operator==(const node_iterator<U, Container, Category>&) const noexcept;
  template <class U> bool operator!=(const node_iterator<U, Container, Category>&) const noexcept;
};
}

#define CUDA_WHEEL_CONTAINER_TYPES(T, A)      \
  typedef T value_type;                       \
  CUDA_WHEEL_CONTAINER_NAMES(T, A)
#define CUDA_WHEEL_CONTAINER_NAMES(T, A)      \
  typedef A allocator_type;                   \
  typedef std::size_t size_type;              \
  typedef std::ptrdiff_t difference_type;     \
  typedef T& reference;                       \
  typedef const T& const_reference;           \
  typedef T* pointer;                         \
  typedef const T* const_pointer;

#define CUDA_WHEEL_CONTAINER_RANGE                             \
  iterator begin() noexcept;                                   \
  const_iterator begin() const noexcept;                       \
  iterator end() noexcept;                                     \
  const_iterator end() const noexcept;                         \
  const_iterator cbegin() const noexcept;                      \
  const_iterator cend() const noexcept;                        \
  size_type size() const noexcept;                             \
  size_type max_size() const noexcept;                         \
  [[nodiscard]] bool empty() const noexcept;                   \
  allocator_type get_allocator() const noexcept;

#define CUDA_WHEEL_CONTAINER_REVERSED                                     \
  typedef std::reverse_iterator<iterator> reverse_iterator;               \
  typedef std::reverse_iterator<const_iterator> const_reverse_iterator;   \
  reverse_iterator rbegin() noexcept;                                     \
  const_reverse_iterator rbegin() const noexcept;                         \
  reverse_iterator rend() noexcept;                                       \
  const_reverse_iterator rend() const noexcept;                           \
  const_reverse_iterator crbegin() const noexcept;                        \
  const_reverse_iterator crend() const noexcept;

// Comparison operators: the template's parameters in parentheses, and the type
#define CUDA_WHEEL_PARAMETERS(...) __VA_ARGS__
#define CUDA_WHEEL_CONTAINER_EQUALITY(parameters, ...)                                                       \
  template <CUDA_WHEEL_PARAMETERS parameters> bool operator==(const __VA_ARGS__& a, const __VA_ARGS__& b);   \
  template <CUDA_WHEEL_PARAMETERS parameters> bool operator!=(const __VA_ARGS__& a, const __VA_ARGS__& b);

#define CUDA_WHEEL_CONTAINER_ORDER(parameters, ...)                                                          \
  CUDA_WHEEL_CONTAINER_EQUALITY(parameters, __VA_ARGS__)                                                     \
  template <CUDA_WHEEL_PARAMETERS parameters> bool operator<(const __VA_ARGS__& a, const __VA_ARGS__& b);    \
  template <CUDA_WHEEL_PARAMETERS parameters> bool operator>(const __VA_ARGS__& a, const __VA_ARGS__& b);    \
  template <CUDA_WHEEL_PARAMETERS parameters> bool operator<=(const __VA_ARGS__& a, const __VA_ARGS__& b);   \
  template <CUDA_WHEEL_PARAMETERS parameters> bool operator>=(const __VA_ARGS__& a, const __VA_ARGS__& b);   \
  template <CUDA_WHEEL_PARAMETERS parameters> void swap(__VA_ARGS__& a, __VA_ARGS__& b) noexcept;

#endif
