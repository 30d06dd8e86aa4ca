// The function objects of <functional>: plus, less and so on, for host and device code.
#ifndef CUDA_WHEEL_DETAIL_FUNCTION_OBJECTS_H
#define CUDA_WHEEL_DETAIL_FUNCTION_OBJECTS_H

#include "../utility"

namespace std {
template <class _A, class _B, class _R> struct binary_function {
  typedef _A first_argument_type;
  typedef _B second_argument_type;
  typedef _R result_type;
};
template <class _A, class _R> struct unary_function {
  typedef _A argument_type;
  typedef _R result_type;
};
#define CUDA_WHEEL_BINARY(name, op, result)                                                                                                                                                 \
  template <class _T = void> struct name : binary_function<_T, _T, result> {                                                                                                                \
    CUDA_WHEEL_CONSTEXPR result operator()(const _T& a, const _T& b) const { return a op b; }                                                                                               \
  };                                                                                                                                                                                        \
  template <> struct name<void> {                                                                                                                                                           \
    typedef void is_transparent;                                                                                                                                                            \
    template <class _A, class _B>                                                                                                                                                           \
    CUDA_WHEEL_CONSTEXPR auto operator()(_A&& a, _B&& b) const noexcept(noexcept(static_cast<_A&&>(a) op static_cast<_B&&>(b))) -> decltype(static_cast<_A&&>(a) op static_cast<_B&&>(b)) { \
      return static_cast<_A&&>(a) op static_cast<_B&&>(b);                                                                                                                                  \
    }                                                                                                                                                                                       \
  };
CUDA_WHEEL_BINARY(plus, +, _T)
CUDA_WHEEL_BINARY(minus, -, _T)
CUDA_WHEEL_BINARY(multiplies, *, _T)
CUDA_WHEEL_BINARY(divides, /, _T)
CUDA_WHEEL_BINARY(modulus, %, _T)
CUDA_WHEEL_BINARY(bit_and, &, _T)
CUDA_WHEEL_BINARY(bit_or, |, _T)
CUDA_WHEEL_BINARY(bit_xor, ^, _T)
CUDA_WHEEL_BINARY(equal_to, ==, bool)
CUDA_WHEEL_BINARY(not_equal_to, !=, bool)
CUDA_WHEEL_BINARY(greater, >, bool)
CUDA_WHEEL_BINARY(less, <, bool)
CUDA_WHEEL_BINARY(greater_equal, >=, bool)
CUDA_WHEEL_BINARY(less_equal, <=, bool)
CUDA_WHEEL_BINARY(logical_and, &&, bool)
CUDA_WHEEL_BINARY(logical_or, ||, bool)
#undef CUDA_WHEEL_BINARY
#define CUDA_WHEEL_UNARY(name, op, result)                                                                                                          \
  template <class _T = void> struct name : unary_function<_T, result> {                                                                             \
    CUDA_WHEEL_CONSTEXPR result operator()(const _T& a) const { return op a; }                                                                      \
  };                                                                                                                                                \
  template <> struct name<void> {                                                                                                                   \
    typedef void is_transparent;                                                                                                                    \
    template <class _A> CUDA_WHEEL_CONSTEXPR auto operator()(_A&& a) const -> decltype(op static_cast<_A&&>(a)) { return op static_cast<_A&&>(a); } \
  };
CUDA_WHEEL_UNARY(negate, -, _T)
CUDA_WHEEL_UNARY(bit_not, ~, _T)
CUDA_WHEEL_UNARY(logical_not, !, bool)
#undef CUDA_WHEEL_UNARY
#if __cplusplus >= 202002L
struct identity {
  typedef void is_transparent;
  template <class _T> CUDA_WHEEL_CONSTEXPR _T&& operator()(_T&& t) const noexcept { return static_cast<_T&&>(t); }
};
#endif
}

#endif
