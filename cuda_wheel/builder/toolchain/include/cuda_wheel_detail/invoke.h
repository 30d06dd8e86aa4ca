// INVOKE of the standard: calls a function object, a function, or a member by its pointer.
#ifndef CUDA_WHEEL_DETAIL_INVOKE_H
#define CUDA_WHEEL_DETAIL_INVOKE_H

#include "../utility"

namespace cuda_wheel_detail {
template <class C, class T, class = void> struct object_of {
  template <class U> static CUDA_WHEEL_CONSTEXPR decltype(auto) get(U&& u) { return *static_cast<U&&>(u); }
};
template <class C, class T> struct object_of<C, T, std::enable_if_t<std::is_base_of<C, std::decay_t<T>>::value>> {
  template <class U> static CUDA_WHEEL_CONSTEXPR U&& get(U&& u) { return static_cast<U&&>(u); }
};
template <class C, class T> struct object_of<C, T, std::enable_if_t<reference_wrapped<std::decay_t<T>>::value>> {
  template <class U> static CUDA_WHEEL_CONSTEXPR decltype(auto) get(U&& u) { return u.get(); }
};

template <class D> struct caller {
  template <class F, class... As> static CUDA_WHEEL_CONSTEXPR decltype(auto) go(F&& f, As&&... as) { return static_cast<F&&>(f)(static_cast<As&&>(as)...); }
};
template <class M, class C> struct caller<M C::*> {
  template <class F, class T, class... As> static CUDA_WHEEL_CONSTEXPR decltype(auto) go_to(std::true_type, F f, T&& t, As&&... as) { return (object_of<C, T>::get(static_cast<T&&>(t)).*f)(static_cast<As&&>(as)...); }
  template <class F, class T> static CUDA_WHEEL_CONSTEXPR decltype(auto) go_to(std::false_type, F f, T&& t) { return (object_of<C, T>::get(static_cast<T&&>(t)).*f); }
  template <class F, class T, class... As> static CUDA_WHEEL_CONSTEXPR decltype(auto) go(F f, T&& t, As&&... as) { return go_to(std::bool_constant<__is_function(M)>(), f, static_cast<T&&>(t), static_cast<As&&>(as)...); }
};
template <class F, class... As>
CUDA_WHEEL_CONSTEXPR std::invoke_result_t<F, As...> call(F&& f, As&&... as) {
  return static_cast<std::invoke_result_t<F, As...>>(caller<std::decay_t<F>>::go(static_cast<F&&>(f), static_cast<As&&>(as)...));
}
}

#endif
