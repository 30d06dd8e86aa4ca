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

template <typename T>
struct is_complex : public std::false_type {};
template <typename T>
struct is_complex<c10::complex<T>> : public std::true_type {};

// The type of the parts; another type is its own.
template <typename T>
struct scalar_value_type {
  using type = T;
};
template <typename T>
struct scalar_value_type<c10::complex<T>> {
  using type = T;
};

#ifndef CUDA_WHEEL_WITHOUT_COMPLEX_FUNCTIONS
template <typename T>
struct is_complex<std::complex<T>> : public std::true_type {};
template <typename T>
struct scalar_value_type<std::complex<T>> {
  using type = T;
};
#endif

}

namespace std {

template <typename T>
class numeric_limits<c10::complex<T>> : public numeric_limits<T> {};

template <typename T>
constexpr T real(const c10::complex<T>& z) {
  return z.real();
}
template <typename T>
constexpr T imag(const c10::complex<T>& z) {
  return z.imag();
}
template <typename T>
constexpr T norm(const c10::complex<T>& z) {
  return z.real() * z.real() + z.imag() * z.imag();
}
template <typename T>
constexpr c10::complex<T> conj(const c10::complex<T>& z) {
  return c10::complex<T>(z.real(), -z.imag());
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

#ifndef CUDA_WHEEL_WITHOUT_COMPLEX_FUNCTIONS
#include <cuda_wheel_detail/pytorch/complex_functions.h>
#endif

#endif
