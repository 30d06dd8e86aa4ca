// The float of 8 bits without infinities and negative zero, of either split into exponent and mantissa.
#ifndef CUDA_WHEEL_PYTORCH_FLOAT8_FNUZ_CVT_H
#define CUDA_WHEEL_PYTORCH_FLOAT8_FNUZ_CVT_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/floating_point_utils.h>

namespace torch {
namespace headeronly {
namespace detail {

template <uint32_t exponent_bits, uint32_t mantissa_bits>
inline C10_HOST_DEVICE float fp8_fnuz_to_fp32_value(uint8_t input) {
  static_assert((exponent_bits == 4 && mantissa_bits == 3) || (exponent_bits == 5 && mantissa_bits == 2), "unknown format");
  if (input == 0) return 0;
  if (input == 0x80) return fp32_from_bits(0x7F800001u);
  constexpr uint32_t mantissa_mask = (1u << mantissa_bits) - 1;
  uint32_t mantissa = input & mantissa_mask;
  uint32_t exponent = (input & 0x7Fu) >> mantissa_bits;
  if (exponent == 0) {
    const uint32_t shift = 1 + __clz(mantissa) - (32 - mantissa_bits);
    mantissa = (mantissa << shift) & mantissa_mask;
    exponent += 1 - shift;
  }
  exponent += (1u << 7) - (1u << (exponent_bits - 1)) - 1;
  const uint32_t sign = input >> 7;
  return fp32_from_bits((sign << 31) | (exponent << 23) | (mantissa << (23 - mantissa_bits)));
}

}
}
}

namespace c10 {
namespace detail {
using torch::headeronly::detail::fp8_fnuz_to_fp32_value;
}
}

#endif
