// at::ceil_div and at::round_up: division of integers, rounded up, and the next multiple.
#ifndef CUDA_WHEEL_PYTORCH_CEIL_DIV_H
#define CUDA_WHEEL_PYTORCH_CEIL_DIV_H

#include <c10/macros/Macros.h>
#include <type_traits>

namespace at {

template <class Integer, class = std::enable_if_t<std::is_integral<Integer>::value>>
C10_HOST_DEVICE C10_ALWAYS_INLINE Integer ceil_div(Integer dividend, Integer divisor) {
  return (dividend + divisor - 1) / divisor;
}
template <class Integer>
C10_HOST_DEVICE C10_ALWAYS_INLINE Integer round_up(Integer number, Integer factor) {
  return ceil_div(number, factor) * factor;
}

}

#endif
