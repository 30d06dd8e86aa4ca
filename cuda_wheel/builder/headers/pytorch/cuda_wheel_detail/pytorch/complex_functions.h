// The functions of c10::complex that PyTorch takes from Thrust in CUDA code, by conversion to thrust::complex.
#ifndef CUDA_WHEEL_PYTORCH_COMPLEX_FUNCTIONS_H
#define CUDA_WHEEL_PYTORCH_COMPLEX_FUNCTIONS_H

#include <complex>
#include <thrust/complex.h>
#include <torch/headeronly/util/complex.h>

namespace cuda_wheel_detail {

template <typename T>
struct complex_functions {
  typedef c10::complex<T> Number;
  typedef thrust::complex<T> Thrust;

  static C10_HOST_DEVICE T abs(const Number& z) { return thrust::abs(static_cast<Thrust>(z)); }
  static C10_HOST_DEVICE Number polar(const T& radius, const T& angle) {
    return static_cast<Number>(thrust::polar(radius, angle));
  }
  // The number as Thrust's; from another type, as PyTorch converts it.
  template <typename U>
  static C10_HOST_DEVICE Thrust thrust(const c10::complex<U>& z) { return static_cast<Thrust>(z); }
  // x and y are thrust::complex or real numbers, of which thrust::pow takes any two.
  template <typename X, typename Y>
  static C10_HOST_DEVICE Number pow(const X& x, const Y& y) {
    return static_cast<Number>(thrust::pow(x, y));
  }

#define CUDA_WHEEL_THRUST_FUNCTION(name) \
  static C10_HOST_DEVICE Number name(const Number& z) { return static_cast<Number>(thrust::name(static_cast<Thrust>(z))); }
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
};

}

#endif
