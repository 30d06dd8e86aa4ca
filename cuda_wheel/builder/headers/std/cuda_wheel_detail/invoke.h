// INVOKE of the standard: calls a function object, a function, or a member by its pointer.
#ifndef CUDA_WHEEL_DETAIL_INVOKE_H
#define CUDA_WHEEL_DETAIL_INVOKE_H

#include "../utility"

namespace cuda_wheel_detail {
template <class _C, class _T, class = void> struct object_of {
  template <class _U> static CUDA_WHEEL_CONSTEXPR decltype(auto) get(_U&& u) { return *static_cast<_U&&>(u); }
};
template <class _C, class _T> struct object_of<_C, _T, std::enable_if_t<std::is_base_of<_C, std::decay_t<_T>>::value>> {
  template <class _U> static CUDA_WHEEL_CONSTEXPR _U&& get(_U&& u) { return static_cast<_U&&>(u); }
};
template <class _C, class _T> struct object_of<_C, _T, std::enable_if_t<reference_wrapped<std::decay_t<_T>>::value>> {
  template <class _U> static CUDA_WHEEL_CONSTEXPR decltype(auto) get(_U&& u) { return u.get(); }
};

template <class _D> struct caller {
  template <class _F, class... As> static CUDA_WHEEL_CONSTEXPR decltype(auto) go(_F&& f, As&&... as) { return static_cast<_F&&>(f)(static_cast<As&&>(as)...); }
};
template <class _M, class _C> struct caller<_M _C::*> {
  template <class _F, class _T, class... As> static CUDA_WHEEL_CONSTEXPR decltype(auto) go_to(std::true_type, _F f, _T&& t, As&&... as) { return (object_of<_C, _T>::get(static_cast<_T&&>(t)).*f)(static_cast<As&&>(as)...); }
  template <class _F, class _T> static CUDA_WHEEL_CONSTEXPR decltype(auto) go_to(std::false_type, _F f, _T&& t) { return (object_of<_C, _T>::get(static_cast<_T&&>(t)).*f); }
  template <class _F, class _T, class... As> static CUDA_WHEEL_CONSTEXPR decltype(auto) go(_F f, _T&& t, As&&... as) { return go_to(std::bool_constant<__is_function(_M)>(), f, static_cast<_T&&>(t), static_cast<As&&>(as)...); }
};
template <class _F, class... As>
CUDA_WHEEL_CONSTEXPR std::invoke_result_t<_F, As...> call(_F&& f, As&&... as) {
  return static_cast<std::invoke_result_t<_F, As...>>(caller<std::decay_t<_F>>::go(static_cast<_F&&>(f), static_cast<As&&>(as)...));
}
}

#endif
