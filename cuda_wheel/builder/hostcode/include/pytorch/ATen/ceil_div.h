// at::ceil_div and at::round_up: division of integers, rounded up, and the next multiple.
#ifndef CUDA_WHEEL_PYTORCH_CEIL_DIV_H
#define CUDA_WHEEL_PYTORCH_CEIL_DIV_H

#include <c10/macros/Macros.h>
#include <type_traits>

namespace at {

template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
C10_ALWAYS_INLINE C10_HOST_DEVICE T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
template <typename T>
C10_ALWAYS_INLINE C10_HOST_DEVICE T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}

}

#endif
