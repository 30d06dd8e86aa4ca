// The function objects of <functional>: plus, less and so on, for host and device code.
#ifndef CUDA_WHEEL_DETAIL_FUNCTION_OBJECTS_H
#define CUDA_WHEEL_DETAIL_FUNCTION_OBJECTS_H

#include "../utility"

namespace std {
template <class A, class B, class R> struct binary_function {
  typedef A first_argument_type;
  typedef B second_argument_type;
  typedef R result_type;
};
template <class A, class R> struct unary_function {
  typedef A argument_type;
  typedef R result_type;
};
#define CUDA_WHEEL_BINARY(name, op, result)                                                                              \
  template <class T = void> struct name : binary_function<T, T, result> {                                                \
    CUDA_WHEEL_CONSTEXPR result operator()(const T& a, const T& b) const { return a op b; }                              \
  };                                                                                                                     \
  template <> struct name<void> {                                                                                        \
    typedef void is_transparent;                                                                                         \
    template <class A, class B>                                                                                          \
    CUDA_WHEEL_CONSTEXPR auto operator()(A&& a, B&& b) const noexcept(noexcept(static_cast<A&&>(a) op static_cast<B&&>(b))) -> decltype(static_cast<A&&>(a) op static_cast<B&&>(b)) { \
      return static_cast<A&&>(a) op static_cast<B&&>(b);                                                                 \
    }                                                                                                                    \
  };
CUDA_WHEEL_BINARY(plus, +, T)
CUDA_WHEEL_BINARY(minus, -, T)
CUDA_WHEEL_BINARY(multiplies, *, T)
CUDA_WHEEL_BINARY(divides, /, T)
CUDA_WHEEL_BINARY(modulus, %, T)
CUDA_WHEEL_BINARY(bit_and, &, T)
CUDA_WHEEL_BINARY(bit_or, |, T)
CUDA_WHEEL_BINARY(bit_xor, ^, T)
CUDA_WHEEL_BINARY(equal_to, ==, bool)
CUDA_WHEEL_BINARY(not_equal_to, !=, bool)
CUDA_WHEEL_BINARY(greater, >, bool)
CUDA_WHEEL_BINARY(less, <, bool)
CUDA_WHEEL_BINARY(greater_equal, >=, bool)
CUDA_WHEEL_BINARY(less_equal, <=, bool)
CUDA_WHEEL_BINARY(logical_and, &&, bool)
CUDA_WHEEL_BINARY(logical_or, ||, bool)
#undef CUDA_WHEEL_BINARY
#define CUDA_WHEEL_UNARY(name, op, result)                                                                               \
  template <class T = void> struct name : unary_function<T, result> {                                                    \
    CUDA_WHEEL_CONSTEXPR result operator()(const T& a) const { return op a; }                                            \
  };                                                                                                                     \
  template <> struct name<void> {                                                                                        \
    typedef void is_transparent;                                                                                         \
    template <class A> CUDA_WHEEL_CONSTEXPR auto operator()(A&& a) const -> decltype(op static_cast<A&&>(a)) { return op static_cast<A&&>(a); } \
  };
CUDA_WHEEL_UNARY(negate, -, T)
CUDA_WHEEL_UNARY(bit_not, ~, T)
CUDA_WHEEL_UNARY(logical_not, !, bool)
#undef CUDA_WHEEL_UNARY
#if __cplusplus >= 202002L
struct identity {
  typedef void is_transparent;
  template <class T> CUDA_WHEEL_CONSTEXPR T&& operator()(T&& t) const noexcept { return static_cast<T&&>(t); }
};
#endif
}

#endif
