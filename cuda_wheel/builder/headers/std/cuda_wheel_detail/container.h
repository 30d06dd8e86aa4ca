// What the containers of host code share. They are declared with the sizes, members and types of GCC's library; only
// what constructs or destroys an element has a body, so that the element's constructors and destructor are instantiated.
#ifndef CUDA_WHEEL_DETAIL_CONTAINER_H
#define CUDA_WHEEL_DETAIL_CONTAINER_H

#include "../initializer_list"
#include "../iterator"
#include "allocator.h"
#include "common_algorithms.h"

namespace cuda_wheel_detail {
template <class _T> struct element {
  template <class... As> static void construct(As&&... as) { ::new (static_cast<void*>(nullptr)) _T(static_cast<As&&>(as)...); }
  static void destroy() { static_cast<_T*>(nullptr)->~_T(); }
};
// The iterator of a container of nodes
template <class _T, class Container, class Category> class node_iterator {
  void* node;

 public:
  typedef Category iterator_category;
  typedef std::remove_const_t<_T> value_type;
  typedef std::ptrdiff_t difference_type;
  typedef _T* pointer;
  typedef _T& reference;
  node_iterator() noexcept;
  template <class _U, std::enable_if_t<std::is_same<const _U, _T>::value && !std::is_same<_U, _T>::value, int> = 0> node_iterator(const node_iterator<_U, Container, Category>& i) noexcept;
  reference operator*() const noexcept;
  pointer operator->() const noexcept;
  node_iterator& operator++() noexcept;
  node_iterator operator++(int) noexcept;
  template <class _C = Category, std::enable_if_t<std::is_convertible<_C, std::bidirectional_iterator_tag>::value, int> = 0> node_iterator& operator--() noexcept;
  template <class _C = Category, std::enable_if_t<std::is_convertible<_C, std::bidirectional_iterator_tag>::value, int> = 0> node_iterator operator--(int) noexcept;
  template <class _U> bool operator==(const node_iterator<_U, Container, Category>&) const noexcept;
  template <class _U> bool operator!=(const node_iterator<_U, Container, Category>&) const noexcept;
};
}

#define CUDA_WHEEL_CONTAINER_TYPES(_T, _A) \
  typedef _T value_type;                   \
  CUDA_WHEEL_CONTAINER_NAMES(_T, _A)
#define CUDA_WHEEL_CONTAINER_NAMES(_T, _A) \
  typedef _A allocator_type;               \
  typedef std::size_t size_type;           \
  typedef std::ptrdiff_t difference_type;  \
  typedef _T& reference;                   \
  typedef const _T& const_reference;       \
  typedef _T* pointer;                     \
  typedef const _T* const_pointer;

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
