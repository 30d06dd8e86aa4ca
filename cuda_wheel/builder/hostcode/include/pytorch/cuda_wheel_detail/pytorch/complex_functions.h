// The functions of c10::complex that PyTorch takes from Thrust in CUDA code, and those that it computes by itself.
#ifndef CUDA_WHEEL_PYTORCH_COMPLEX_FUNCTIONS_H
#define CUDA_WHEEL_PYTORCH_COMPLEX_FUNCTIONS_H

#include <c10/util/complex.h>
#include <cmath>
#include <thrust/complex.h>

namespace std {
template <typename T>
C10_HOST_DEVICE T abs(const c10::complex<T>& z) {
  return thrust::abs(static_cast<thrust::complex<T>>(z));
}
}

namespace c10_complex_math {

#define CUDA_WHEEL_THRUST_FUNCTION(name)                                                         \
  template <typename T>                                                                          \
  C10_HOST_DEVICE inline c10::complex<T> name(const c10::complex<T>& z) {                        \
    return static_cast<c10::complex<T>>(thrust::name(static_cast<thrust::complex<T>>(z)));       \
  }
CUDA_WHEEL_THRUST_FUNCTION(exp)
CUDA_WHEEL_THRUST_FUNCTION(log)
CUDA_WHEEL_THRUST_FUNCTION(log10)
CUDA_WHEEL_THRUST_FUNCTION(sqrt)
CUDA_WHEEL_THRUST_FUNCTION(sin)
CUDA_WHEEL_THRUST_FUNCTION(cos)
CUDA_WHEEL_THRUST_FUNCTION(tan)
CUDA_WHEEL_THRUST_FUNCTION(asin)
CUDA_WHEEL_THRUST_FUNCTION(acos)
CUDA_WHEEL_THRUST_FUNCTION(atan)
CUDA_WHEEL_THRUST_FUNCTION(sinh)
CUDA_WHEEL_THRUST_FUNCTION(cosh)
CUDA_WHEEL_THRUST_FUNCTION(tanh)
CUDA_WHEEL_THRUST_FUNCTION(asinh)
CUDA_WHEEL_THRUST_FUNCTION(acosh)
CUDA_WHEEL_THRUST_FUNCTION(atanh)
#undef CUDA_WHEEL_THRUST_FUNCTION

template <typename T>
C10_HOST_DEVICE inline c10::complex<T> log2(const c10::complex<T>& z) {
  return c10_complex_math::log(z) / c10::complex<T>(::log(2.0), 0.0);
}

template <typename T>
C10_HOST_DEVICE inline c10::complex<T> pow(const c10::complex<T>& x, const c10::complex<T>& y) {
  return static_cast<c10::complex<T>>(
      thrust::pow(static_cast<thrust::complex<T>>(x), static_cast<thrust::complex<T>>(y)));
}
template <typename T>
C10_HOST_DEVICE inline c10::complex<T> pow(const c10::complex<T>& x, const T& y) {
  return static_cast<c10::complex<T>>(thrust::pow(static_cast<thrust::complex<T>>(x), y));
}
template <typename T>
C10_HOST_DEVICE inline c10::complex<T> pow(const T& x, const c10::complex<T>& y) {
  return static_cast<c10::complex<T>>(thrust::pow(x, static_cast<thrust::complex<T>>(y)));
}
template <typename T, typename U>
C10_HOST_DEVICE inline c10::complex<decltype(T() * U())> pow(const c10::complex<T>& x, const c10::complex<U>& y) {
  return static_cast<c10::complex<T>>(
      thrust::pow(static_cast<thrust::complex<T>>(x), static_cast<thrust::complex<T>>(y)));
}
template <typename T, typename U>
C10_HOST_DEVICE inline c10::complex<decltype(T() * U())> pow(const c10::complex<T>& x, const U& y) {
  return static_cast<c10::complex<T>>(thrust::pow(static_cast<thrust::complex<T>>(x), y));
}
template <typename T, typename U>
C10_HOST_DEVICE inline c10::complex<decltype(T() * U())> pow(const T& x, const c10::complex<U>& y) {
  return static_cast<c10::complex<T>>(thrust::pow(x, static_cast<thrust::complex<T>>(y)));
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

#define CUDA_WHEEL_COMPLEX_NAMES   \
  using c10_complex_math::acos;    \
  using c10_complex_math::acosh;   \
  using c10_complex_math::asin;    \
  using c10_complex_math::asinh;   \
  using c10_complex_math::atan;    \
  using c10_complex_math::atanh;   \
  using c10_complex_math::cos;     \
  using c10_complex_math::cosh;    \
  using c10_complex_math::exp;     \
  using c10_complex_math::expm1;   \
  using c10_complex_math::log;     \
  using c10_complex_math::log10;   \
  using c10_complex_math::log1p;   \
  using c10_complex_math::log2;    \
  using c10_complex_math::pow;     \
  using c10_complex_math::sin;     \
  using c10_complex_math::sinh;    \
  using c10_complex_math::sqrt;    \
  using c10_complex_math::tan;     \
  using c10_complex_math::tanh;
CUDA_WHEEL_COMPLEX_NAMES
namespace std {
CUDA_WHEEL_COMPLEX_NAMES
}
#undef CUDA_WHEEL_COMPLEX_NAMES

#endif
