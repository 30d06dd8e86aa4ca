// <cuda/std/__tuple_dir/structured_bindings.h> in place of libcu++'s of CUDA 12: structured bindings of its types, for the std::tuple_size of cuda_wheel_detail/tuple_size.h.
#ifndef CUDA_WHEEL_CUDA_STD_STRUCTURED_BINDINGS
#define CUDA_WHEEL_CUDA_STD_STRUCTURED_BINDINGS

#include "../../../cuda_wheel_detail/tuple_size.h"
#include <cuda/std/detail/__config>
#ifdef _CCCL_FREESTANDING  // CUDA 13.5: it has no such file, and does the same elsewhere
#include <cuda/std/tuple>
#else
#include <cuda/std/__fwd/array.h>
#include <cuda/std/__fwd/complex.h>
#include <cuda/std/__fwd/pair.h>
#include <cuda/std/__fwd/subrange.h>
#include <cuda/std/__fwd/tuple.h>
#include <cuda/std/__tuple_dir/tuple_element.h>
#include <cuda/std/__tuple_dir/tuple_size.h>

namespace std {
#define CUDA_WHEEL_BINDING(parameters, ...)                                                                                          \
  template <parameters> struct tuple_size<__VA_ARGS__> : cuda::std::tuple_size<__VA_ARGS__> {};                                      \
  template <decltype(sizeof(0)) i, parameters> struct tuple_element<i, __VA_ARGS__> : cuda::std::tuple_element<i, __VA_ARGS__> {};
#define CUDA_WHEEL_COMMA ,
CUDA_WHEEL_BINDING(class _T CUDA_WHEEL_COMMA decltype(sizeof(0)) n, cuda::std::array<_T, n>)
CUDA_WHEEL_BINDING(class _A CUDA_WHEEL_COMMA class _B, cuda::std::pair<_A, _B>)
CUDA_WHEEL_BINDING(class... Ts, cuda::std::tuple<Ts...>)
CUDA_WHEEL_BINDING(class _T, cuda::std::complex<_T>)
#undef CUDA_WHEEL_COMMA
#undef CUDA_WHEEL_BINDING
#if __cplusplus >= 202002L
template <cuda::std::input_or_output_iterator _I, cuda::std::sentinel_for<_I> _S, cuda::std::ranges::subrange_kind kind>
struct tuple_size<cuda::std::ranges::subrange<_I, _S, kind>> : cuda::std::tuple_size<cuda::std::ranges::subrange<_I, _S, kind>> {};
template <decltype(sizeof(0)) i, cuda::std::input_or_output_iterator _I, cuda::std::sentinel_for<_I> _S, cuda::std::ranges::subrange_kind kind>
struct tuple_element<i, cuda::std::ranges::subrange<_I, _S, kind>> : cuda::std::tuple_element<i, cuda::std::ranges::subrange<_I, _S, kind>> {};
#elif __cplusplus >= 201703L
template <class _I, class _S, cuda::std::ranges::subrange_kind kind>
struct tuple_size<cuda::std::ranges::subrange<_I, _S, kind>> : cuda::std::tuple_size<cuda::std::ranges::subrange<_I, _S, kind>> {};
template <decltype(sizeof(0)) i, class _I, class _S, cuda::std::ranges::subrange_kind kind>
struct tuple_element<i, cuda::std::ranges::subrange<_I, _S, kind>> : cuda::std::tuple_element<i, cuda::std::ranges::subrange<_I, _S, kind>> {};
#endif
}

#endif
#endif
