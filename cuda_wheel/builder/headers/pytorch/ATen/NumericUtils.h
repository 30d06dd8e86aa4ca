// at::_isnan and at::_isinf for every type of a tensor, and the fast exp, log, log1p and tan of at::.
#ifndef CUDA_WHEEL_PYTORCH_NUMERIC_UTILS_H
#define CUDA_WHEEL_PYTORCH_NUMERIC_UTILS_H

#include <c10/macros/Macros.h>
#include <c10/util/BFloat16.h>
#include <cuda_wheel_detail/pytorch/float8.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
#include <cmath>
#include <type_traits>

namespace at {

template <typename T, std::enable_if_t<std::is_integral<T>::value, int> = 0>
inline C10_HOST_DEVICE bool _isnan(T) {
  return false;
}
template <typename T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0>
inline C10_HOST_DEVICE bool _isnan(T value) {
  return ::isnan(value);
}
template <typename T, std::enable_if_t<c10::is_complex<T>::value, int> = 0>
inline C10_HOST_DEVICE bool _isnan(T value) {
  return ::isnan(value.real()) || ::isnan(value.imag());
}
template <typename T, std::enable_if_t<std::is_same<T, at::Half>::value, int> = 0>
inline C10_HOST_DEVICE bool _isnan(T value) {
  return at::_isnan(static_cast<float>(value));
}
template <typename T, std::enable_if_t<std::is_same<T, at::BFloat16>::value, int> = 0>
inline C10_HOST_DEVICE bool _isnan(at::BFloat16 value) {
  return at::_isnan(static_cast<float>(value));
}
inline C10_HOST_DEVICE bool _isnan(at::BFloat16 value) { return at::_isnan(static_cast<float>(value)); }
template <typename T,
          std::enable_if_t<std::is_same<T, at::Float8_e5m2>::value || std::is_same<T, at::Float8_e4m3fn>::value ||
                               std::is_same<T, at::Float8_e5m2fnuz>::value ||
                               std::is_same<T, at::Float8_e4m3fnuz>::value,
                           int> = 0>
inline C10_HOST_DEVICE bool _isnan(T value) {
  return value.isnan();
}

template <typename T, std::enable_if_t<std::is_integral<T>::value, int> = 0>
inline C10_HOST_DEVICE bool _isinf(T) {
  return false;
}
template <typename T, std::enable_if_t<std::is_same<T, at::Float8_e5m2>::value, int> = 0>
inline C10_HOST_DEVICE bool _isinf(T value) {
  return value.isinf();
}
template <typename T,
          std::enable_if_t<std::is_same<T, at::Float8_e4m3fn>::value || std::is_same<T, at::Float8_e5m2fnuz>::value ||
                               std::is_same<T, at::Float8_e4m3fnuz>::value,
                           int> = 0>
inline C10_HOST_DEVICE bool _isinf(T) {
  return false;
}
template <typename T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0>
inline C10_HOST_DEVICE bool _isinf(T value) {
  return ::isinf(value);
}
inline C10_HOST_DEVICE bool _isinf(at::Half value) { return at::_isinf(static_cast<float>(value)); }
inline C10_HOST_DEVICE bool _isinf(at::BFloat16 value) { return at::_isinf(static_cast<float>(value)); }

// For float and narrower types these are the fast intrinsics; for double, the usual functions.
#define CUDA_WHEEL_FAST_FUNCTION(name, fast)                                                               \
  template <typename T>                                                                                    \
  C10_HOST_DEVICE inline T name(T x) {                                                                     \
    static_assert(!std::is_same<T, double>::value, "at::" #name " is for float and less precise types");   \
    return fast;                                                                                           \
  }                                                                                                        \
  template <>                                                                                              \
  C10_HOST_DEVICE inline double name<double>(double x) {                                                   \
    return ::name(x);                                                                                      \
  }
CUDA_WHEEL_FAST_FUNCTION(exp, __expf(x))
CUDA_WHEEL_FAST_FUNCTION(log, __logf(x))
CUDA_WHEEL_FAST_FUNCTION(log1p, __logf(1.0f + x))
CUDA_WHEEL_FAST_FUNCTION(tan, __tanf(x))
#undef CUDA_WHEEL_FAST_FUNCTION

}

#endif
