// std::allocator and std::allocator_traits.
#ifndef CUDA_WHEEL_DETAIL_ALLOCATOR_H
#define CUDA_WHEEL_DETAIL_ALLOCATOR_H

#include "../new"
#include "../utility"

namespace std {
template <class T> class allocator {
 public:
  typedef T value_type;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  typedef true_type propagate_on_container_move_assignment;
  typedef true_type is_always_equal;
#if __cplusplus < 202002L
  typedef T* pointer;
  typedef const T* const_pointer;
  typedef T& reference;
  typedef const T& const_reference;
  template <class U> struct rebind { typedef allocator<U> other; };
#endif
  constexpr allocator() noexcept {}
  constexpr allocator(const allocator&) noexcept {}
  template <class U> constexpr allocator(const allocator<U>&) noexcept {}
  CUDA_WHEEL_CONSTEXPR20 ~allocator() {}
  T* allocate(size_t n);
  T* allocate(size_t n, const void* hint);
  void deallocate(T* p, size_t n);
  size_t max_size() const noexcept;
  template <class U, class... As> void construct(U* p, As&&... as) { ::new (static_cast<void*>(p)) U(static_cast<As&&>(as)...); }
  template <class U> void destroy(U* p) { p->~U(); }
};
template <> class allocator<void> {
 public:
  typedef void value_type;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
#if __cplusplus < 202002L
  typedef void* pointer;
  typedef const void* const_pointer;
  template <class U> struct rebind { typedef allocator<U> other; };
#endif
};
template <class T, class U> bool operator==(const allocator<T>&, const allocator<U>&) noexcept;
template <class T, class U> bool operator!=(const allocator<T>&, const allocator<U>&) noexcept;

template <class P> struct pointer_traits;
template <class T> struct pointer_traits<T*> {
  typedef T* pointer;
  typedef T element_type;
  typedef ptrdiff_t difference_type;
  template <class U> using rebind = U*;
  static constexpr T* pointer_to(T& t) noexcept { return std::addressof(t); }
};
template <template <class, class...> class P, class T, class... Ts> struct pointer_traits<P<T, Ts...>> {
  typedef P<T, Ts...> pointer;
  typedef T element_type;
  typedef ptrdiff_t difference_type;
  template <class U> using rebind = P<U, Ts...>;
};
}

namespace cuda_wheel_detail {
template <class A, class = void> struct pointer_in { typedef typename A::value_type* type; };
template <class A> struct pointer_in<A, typename voided<typename A::pointer>::type> { typedef typename A::pointer type; };
template <class A, class U, class = void> struct rebound;
template <template <class, class...> class A, class T, class... Ts, class U> struct rebound<A<T, Ts...>, U, void> { typedef A<U, Ts...> type; };
template <class A, class U> struct rebound<A, U, typename voided<typename A::template rebind<U>::other>::type> { typedef typename A::template rebind<U>::other type; };
}

namespace std {
template <class A> struct allocator_traits {
  typedef A allocator_type;
  typedef typename A::value_type value_type;
  typedef typename cuda_wheel_detail::pointer_in<A>::type pointer;
  typedef const value_type* const_pointer;
  typedef void* void_pointer;
  typedef const void* const_void_pointer;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  typedef typename is_empty<A>::type is_always_equal;
  template <class U> using rebind_alloc = typename cuda_wheel_detail::rebound<A, U>::type;
  template <class U> using rebind_traits = allocator_traits<rebind_alloc<U>>;
  static pointer allocate(A& a, size_t n) { return a.allocate(n); }
  static void deallocate(A& a, pointer p, size_t n) { a.deallocate(p, n); }
  template <class T, class... As> static void construct(A&, T* p, As&&... as) { ::new (static_cast<void*>(p)) T(static_cast<As&&>(as)...); }
  template <class T> static void destroy(A&, T* p) { p->~T(); }
  static size_t max_size(const A&) noexcept;
  static A select_on_container_copy_construction(const A& a);
};
template <class T, class A> struct uses_allocator : false_type {};
}

#endif
