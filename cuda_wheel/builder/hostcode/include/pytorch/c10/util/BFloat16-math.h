// is_reduced_floating_point, and std::nextafter of Half and BFloat16. Their other functions convert to float.
#ifndef CUDA_WHEEL_PYTORCH_BFLOAT16_MATH_H
#define CUDA_WHEEL_PYTORCH_BFLOAT16_MATH_H

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cstdint>
#include <type_traits>

namespace c10 {
template <typename T>
struct is_reduced_floating_point
    : std::integral_constant<bool, std::is_same<T, c10::Half>::value || std::is_same<T, c10::BFloat16>::value> {};
template <typename T>
constexpr bool is_reduced_floating_point_v = is_reduced_floating_point<T>::value;
}

namespace std {
using c10::is_reduced_floating_point;
using c10::is_reduced_floating_point_v;

template <typename T, typename std::enable_if_t<c10::is_reduced_floating_point<T>::value, int> = 0>
C10_HOST_DEVICE inline T nextafter(T from, T to) {
  if (from != from || to != to) return from + to;
  if (from.x == to.x) return from;
  const uint16_t from_size = from.x & 0x7FFFu;
  const uint16_t to_size = to.x & 0x7FFFu;
  if (from_size == 0 && to_size == 0) return to;
  if (from_size == 0) return T(static_cast<uint16_t>((to.x & 0x8000u) | 1u), T::from_bits());
  const bool towards_zero = from_size > to_size || ((from.x ^ to.x) & 0x8000u);
  return T(static_cast<uint16_t>(towards_zero ? from.x - 1 : from.x + 1), T::from_bits());
}
}

#endif
