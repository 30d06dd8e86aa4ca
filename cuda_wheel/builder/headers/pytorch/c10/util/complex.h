// c10::complex with the functions for it, in namespace std as PyTorch has them: Thrust's, by conversion.
#ifndef CUDA_WHEEL_PYTORCH_COMPLEX_H
#define CUDA_WHEEL_PYTORCH_COMPLEX_H

#include <c10/macros/Macros.h>
#include <c10/util/Half.h>
#include <cmath>
#include <limits>
#include <torch/headeronly/util/complex.h>
#include <type_traits>

namespace c10 {

using torch::headeronly::is_complex;
using torch::headeronly::scalar_value_type;

}

namespace std {

template <typename T>
class numeric_limits<c10::complex<T>> : public numeric_limits<T> {};

template <typename T>
C10_HOST_DEVICE constexpr T real(const c10::complex<T>& z) {
  return z.real();
}
template <typename T>
C10_HOST_DEVICE constexpr T imag(const c10::complex<T>& z) {
  return z.imag();
}
template <typename T>
C10_HOST_DEVICE constexpr T norm(const c10::complex<T>& z) {
  return z.real() * z.real() + z.imag() * z.imag();
}
template <typename T>
C10_HOST_DEVICE constexpr c10::complex<T> conj(const c10::complex<T>& z) {
  return c10::complex<T>(z.real(), -z.imag());
}
template <typename T>
C10_HOST_DEVICE T abs(const c10::complex<T>& z) {
  return cuda_wheel_detail::complex_functions<T>::abs(z);
}
template <typename T>
C10_HOST_DEVICE T arg(const c10::complex<T>& z) {
  return std::atan2(std::imag(z), std::real(z));
}
template <typename T>
bool isnan(const c10::complex<T>& z) {
  return std::isnan(z.real()) || std::isnan(z.imag());
}

}

// The functions that are Thrust's.
#define CUDA_WHEEL_COMPLEX_FUNCTIONS_OF_THRUST(X) \
  X(exp) X(log) X(log10) X(sqrt) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)

namespace c10_complex_math {

#define CUDA_WHEEL_COMPLEX_FUNCTION(name)                                                         \
  template <typename T>                                                                          \
  C10_HOST_DEVICE inline c10::complex<T> name(const c10::complex<T>& z) {                        \
    return cuda_wheel_detail::complex_functions<T>::name(z);                                     \
  }
CUDA_WHEEL_COMPLEX_FUNCTIONS_OF_THRUST(CUDA_WHEEL_COMPLEX_FUNCTION)
#undef CUDA_WHEEL_COMPLEX_FUNCTION

template <typename T>
C10_HOST_DEVICE inline c10::complex<T> log2(const c10::complex<T>& z) {
  return c10_complex_math::log(z) / c10::complex<T>(::log(2.0), 0.0);
}

// With operands of two types, the first decides that of the computation, as in PyTorch.
template <typename T>
C10_HOST_DEVICE inline c10::complex<T> pow(const c10::complex<T>& x, const c10::complex<T>& y) {
  typedef cuda_wheel_detail::complex_functions<T> Functions;
  return Functions::pow(Functions::thrust(x), Functions::thrust(y));
}
template <typename T>
C10_HOST_DEVICE inline c10::complex<T> pow(const c10::complex<T>& x, const T& y) {
  typedef cuda_wheel_detail::complex_functions<T> Functions;
  return Functions::pow(Functions::thrust(x), y);
}
template <typename T>
C10_HOST_DEVICE inline c10::complex<T> pow(const T& x, const c10::complex<T>& y) {
  typedef cuda_wheel_detail::complex_functions<T> Functions;
  return Functions::pow(x, Functions::thrust(y));
}
template <typename T, typename U>
C10_HOST_DEVICE inline c10::complex<decltype(T() * U())> pow(const c10::complex<T>& x, const c10::complex<U>& y) {
  typedef cuda_wheel_detail::complex_functions<T> Functions;
  return Functions::pow(Functions::thrust(x), Functions::thrust(y));
}
template <typename T, typename U>
C10_HOST_DEVICE inline c10::complex<decltype(T() * U())> pow(const c10::complex<T>& x, const U& y) {
  typedef cuda_wheel_detail::complex_functions<T> Functions;
  return Functions::pow(Functions::thrust(x), y);
}
template <typename T, typename U>
C10_HOST_DEVICE inline c10::complex<decltype(T() * U())> pow(const T& x, const c10::complex<U>& y) {
  typedef cuda_wheel_detail::complex_functions<T> Functions;
  return Functions::pow(x, Functions::thrust(y));
}

// log(1 + z). Near 1, by the logarithm of the squared distance from 0, so that the small part is not lost.
template <typename T>
C10_HOST_DEVICE inline c10::complex<T> log1p(const c10::complex<T>& z) {
  const T x = z.real();
  const T y = z.imag();
  const T angle = std::atan2(y, x + T(1));
  if (std::abs(z) < 0.5) {
    const T distance = x * (T(2) + x) + y * y;
    if (distance == 0) return {x, angle};
    return {T(0.5) * std::log1p(distance), angle};
  }
  return {std::log(std::hypot(x + 1, y)), angle};
}

// exp(z) - 1, from expm1 of the real part and the sine of half the imaginary one.
template <typename T>
C10_HOST_DEVICE inline c10::complex<T> expm1(const c10::complex<T>& z) {
  const T x = z.real();
  const T y = z.imag();
  const T sine = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - T(2) * sine * sine, std::exp(x) * std::sin(y)};
}

}

#define CUDA_WHEEL_COMPLEX_NAME(name) using c10_complex_math::name;
#define CUDA_WHEEL_COMPLEX_NAMES                                  \
  CUDA_WHEEL_COMPLEX_FUNCTIONS_OF_THRUST(CUDA_WHEEL_COMPLEX_NAME) \
  CUDA_WHEEL_COMPLEX_NAME(expm1)                                  \
  CUDA_WHEEL_COMPLEX_NAME(log1p)                                  \
  CUDA_WHEEL_COMPLEX_NAME(log2)                                   \
  CUDA_WHEEL_COMPLEX_NAME(pow)
CUDA_WHEEL_COMPLEX_NAMES
namespace std {
CUDA_WHEEL_COMPLEX_NAMES
}
#undef CUDA_WHEEL_COMPLEX_NAMES
#undef CUDA_WHEEL_COMPLEX_NAME
#undef CUDA_WHEEL_COMPLEX_FUNCTIONS_OF_THRUST

#endif
