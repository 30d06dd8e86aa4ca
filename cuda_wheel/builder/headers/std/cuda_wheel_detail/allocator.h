// std::allocator and std::allocator_traits.
#ifndef CUDA_WHEEL_DETAIL_ALLOCATOR_H
#define CUDA_WHEEL_DETAIL_ALLOCATOR_H

#include "../new"
#include "../utility"

namespace std {
template <class _T> class allocator {
 public:
  typedef _T value_type;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  typedef true_type propagate_on_container_move_assignment;
  typedef true_type is_always_equal;
#if __cplusplus < 202002L
  typedef _T* pointer;
  typedef const _T* const_pointer;
  typedef _T& reference;
  typedef const _T& const_reference;
  template <class _U> struct rebind { typedef allocator<_U> other; };
#endif
  constexpr allocator() noexcept {}
  constexpr allocator(const allocator&) noexcept {}
  template <class _U> constexpr allocator(const allocator<_U>&) noexcept {}
  CUDA_WHEEL_CONSTEXPR20 ~allocator() {}
  _T* allocate(size_t n);
  _T* allocate(size_t n, const void* hint);
  void deallocate(_T* p, size_t n);
  size_t max_size() const noexcept;
  template <class _U, class... As> void construct(_U* p, As&&... as) { ::new (static_cast<void*>(p)) _U(static_cast<As&&>(as)...); }
  template <class _U> void destroy(_U* p) { p->~_U(); }
};
template <> class allocator<void> {
 public:
  typedef void value_type;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
#if __cplusplus < 202002L
  typedef void* pointer;
  typedef const void* const_pointer;
  template <class _U> struct rebind { typedef allocator<_U> other; };
#endif
};
template <class _T, class _U> bool operator==(const allocator<_T>&, const allocator<_U>&) noexcept;
template <class _T, class _U> bool operator!=(const allocator<_T>&, const allocator<_U>&) noexcept;

template <class _P> struct pointer_traits;
template <class _T> struct pointer_traits<_T*> {
  typedef _T* pointer;
  typedef _T element_type;
  typedef ptrdiff_t difference_type;
  template <class _U> using rebind = _U*;
  static constexpr _T* pointer_to(_T& t) noexcept { return std::addressof(t); }
};
template <template <class, class...> class _P, class _T, class... Ts> struct pointer_traits<_P<_T, Ts...>> {
  typedef _P<_T, Ts...> pointer;
  typedef _T element_type;
  typedef ptrdiff_t difference_type;
  template <class _U> using rebind = _P<_U, Ts...>;
};
}

namespace cuda_wheel_detail {
template <class _A, class = void> struct pointer_in { typedef typename _A::value_type* type; };
template <class _A> struct pointer_in<_A, typename voided<typename _A::pointer>::type> { typedef typename _A::pointer type; };
template <class _A, class _U, class = void> struct rebound;
template <template <class, class...> class _A, class _T, class... Ts, class _U> struct rebound<_A<_T, Ts...>, _U, void> { typedef _A<_U, Ts...> type; };
template <class _A, class _U> struct rebound<_A, _U, typename voided<typename _A::template rebind<_U>::other>::type> { typedef typename _A::template rebind<_U>::other type; };
}

namespace std {
template <class _A> struct allocator_traits {
  typedef _A allocator_type;
  typedef typename _A::value_type value_type;
  typedef typename cuda_wheel_detail::pointer_in<_A>::type pointer;
  typedef const value_type* const_pointer;
  typedef void* void_pointer;
  typedef const void* const_void_pointer;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  typedef typename is_empty<_A>::type is_always_equal;
  template <class _U> using rebind_alloc = typename cuda_wheel_detail::rebound<_A, _U>::type;
  template <class _U> using rebind_traits = allocator_traits<rebind_alloc<_U>>;
  static pointer allocate(_A& a, size_t n) { return a.allocate(n); }
  static void deallocate(_A& a, pointer p, size_t n) { a.deallocate(p, n); }
  template <class _T, class... As> static void construct(_A&, _T* p, As&&... as) { ::new (static_cast<void*>(p)) _T(static_cast<As&&>(as)...); }
  template <class _T> static void destroy(_A&, _T* p) { p->~_T(); }
  static size_t max_size(const _A&) noexcept;
  static _A select_on_container_copy_construction(const _A& a);
};
template <class _T, class _A> struct uses_allocator : false_type {};
}

#endif
