// std::tuple_size and std::tuple_element: open to specialisation, and used by structured bindings.
// libcu++ has specialisations of them for its own types. Its newer releases also define those for const and volatile
// types (see cuda/std/__tuple_dir/), so whichever comes first defines them.
#ifndef CUDA_WHEEL_DETAIL_TUPLE_SIZE_H
#define CUDA_WHEEL_DETAIL_TUPLE_SIZE_H

#include "../type_traits"

namespace cuda_wheel_detail {
struct nothing {};
}

namespace std {
// CUTLASS declares them so, for NVRTC, and libcu++ before CUDA 13.5 does.
template <class...> struct tuple_size;
template <decltype(sizeof(0)) i, class...> struct tuple_element;
}

namespace cuda_wheel_detail {
// T, if it has a size: tuple_size of another const type stays incomplete, as structured bindings require
template <class _T, bool plain = std::is_same<_T, typename std::remove_cv<_T>::type>::value, typename std::enable_if<plain, int>::type = 0, decltype(sizeof(0)) = std::tuple_size<_T>::value>
using with_size = _T;
}

namespace std {
#ifndef _CUDA_STD___TUPLE_TUPLE_SIZE_H
template <class _T> struct tuple_size<const cuda_wheel_detail::with_size<_T>> : tuple_size<_T> {};
template <class _T> struct tuple_size<volatile cuda_wheel_detail::with_size<_T>> : tuple_size<_T> {};
template <class _T> struct tuple_size<const volatile cuda_wheel_detail::with_size<_T>> : tuple_size<_T> {};
#endif
#ifndef _CUDA_STD___TUPLE_TUPLE_ELEMENT_H
template <decltype(sizeof(0)) i, class _T> struct tuple_element<i, const _T> { typedef const typename tuple_element<i, _T>::type type; };
template <decltype(sizeof(0)) i, class _T> struct tuple_element<i, volatile _T> { typedef volatile typename tuple_element<i, _T>::type type; };
template <decltype(sizeof(0)) i, class _T> struct tuple_element<i, const volatile _T> { typedef const volatile typename tuple_element<i, _T>::type type; };
#endif
template <decltype(sizeof(0)) i, class _T> using tuple_element_t = typename tuple_element<i, _T>::type;
#if __cplusplus >= 201703L
template <class _T> inline constexpr decltype(sizeof(0)) tuple_size_v = tuple_size<_T>::value;
#endif
}

#endif
