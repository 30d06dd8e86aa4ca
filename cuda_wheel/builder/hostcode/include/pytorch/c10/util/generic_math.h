// Division and remainder that round towards negative infinity, as Python's do.
#ifndef CUDA_WHEEL_PYTORCH_GENERIC_MATH_H
#define CUDA_WHEEL_PYTORCH_GENERIC_MATH_H

#include <c10/cuda/CUDAMathCompat.h>
#include <c10/macros/Macros.h>
#include <c10/util/TypeSafeSignMath.h>
#include <cmath>
#include <limits>
#include <type_traits>

#define C10_COMPAT_COPYSIGN c10::cuda::compat::copysign

namespace c10 {

template <typename scalar_t>
inline C10_HOST_DEVICE scalar_t div_floor_floating(scalar_t a, scalar_t b) {
  if (C10_UNLIKELY(b == 0)) return a / b;
  const auto remainder = std::fmod(a, b);
  auto quotient = (a - remainder) / b;
  if ((remainder != 0) && (b < 0) != (remainder < 0)) quotient -= scalar_t(1);
  scalar_t result;
  if (quotient != 0) {
    result = std::floor(quotient);
    if (quotient - result > scalar_t(0.5)) result += scalar_t(1.0);
  } else {
    result = C10_COMPAT_COPYSIGN(scalar_t(0), a / b);
  }
  return result;
}

template <typename scalar_t>
inline C10_HOST_DEVICE scalar_t div_floor_integer(scalar_t a, scalar_t b) {
  if (C10_UNLIKELY(std::is_signed<scalar_t>::value && a == std::numeric_limits<scalar_t>::min() && b == scalar_t(-1)))
    return a;
  if (c10::signs_differ(a, b)) {
    const auto quotient = a / b;
    const auto remainder = a % b;
    return remainder ? quotient - 1 : quotient;
  }
  return a / b;
}

template <typename scalar_t, std::enable_if_t<std::is_floating_point<scalar_t>::value, int> = 0>
inline C10_HOST_DEVICE scalar_t div_mod(scalar_t a, scalar_t b) {
  if (C10_UNLIKELY(b == 0)) return std::fmod(a, b);
  auto remainder = std::fmod(a, b);
  if (remainder == 0) {
    remainder = C10_COMPAT_COPYSIGN(scalar_t(0), b);
  } else if ((b < 0) != (remainder < 0)) {
    remainder += b;
  }
  return remainder;
}
template <typename scalar_t, std::enable_if_t<std::is_integral<scalar_t>::value, int> = 0>
inline C10_HOST_DEVICE scalar_t div_mod(scalar_t a, scalar_t b) {
  auto remainder = a % b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) remainder += b;
  return remainder;
}

}

#endif
