// Comparisons of signs and with limits, without warnings for unsigned types.
#ifndef CUDA_WHEEL_PYTORCH_TYPE_SAFE_SIGN_MATH_H
#define CUDA_WHEEL_PYTORCH_TYPE_SAFE_SIGN_MATH_H

#include <limits>
#include <torch/headeronly/macros/Macros.h>
#include <type_traits>

namespace c10 {

template <typename T>
inline constexpr bool is_negative(const T& x) {
  if constexpr (std::is_unsigned<T>::value) {
    return false;
  } else {
    return x < T(0);
  }
}

template <typename T>
inline constexpr int signum(const T& x) {
  if constexpr (std::is_unsigned<T>::value) {
    return T(0) < x;
  } else {
    return (T(0) < x) - (x < T(0));
  }
}

template <typename T, typename U>
inline constexpr bool signs_differ(const T& a, const U& b) {
  return is_negative(a) != is_negative(b);
}

template <typename Limit, typename T>
inline constexpr bool greater_than_max(const T& x) {
  constexpr bool can_overflow = std::numeric_limits<T>::digits > std::numeric_limits<Limit>::digits;
  return can_overflow && x > std::numeric_limits<Limit>::max();
}

template <typename Limit, typename T>
inline constexpr bool less_than_lowest(const T& x) {
  if constexpr (std::is_unsigned<T>::value) {
    return false;
  } else if constexpr (std::is_unsigned<Limit>::value) {
    return x < T(0);
  } else {
    return x < std::numeric_limits<Limit>::lowest();
  }
}

}

namespace torch {
namespace headeronly {
using c10::greater_than_max;
using c10::is_negative;
using c10::less_than_lowest;
using c10::signs_differ;
using c10::signum;
}
}

#endif
