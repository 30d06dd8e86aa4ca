// c10::copysign: a number with the sign of another, of Half and BFloat16 by their bits.
#ifndef CUDA_WHEEL_PYTORCH_COPYSIGN_H
#define CUDA_WHEEL_PYTORCH_COPYSIGN_H

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cmath>

namespace c10 {

template <typename T, typename U>
inline auto copysign(const T& a, const U& b) {
  return std::copysign(a, b);
}
c10::Half copysign(c10::Half a, c10::Half b);
c10::BFloat16 copysign(c10::BFloat16 a, c10::BFloat16 b);

}

#endif
