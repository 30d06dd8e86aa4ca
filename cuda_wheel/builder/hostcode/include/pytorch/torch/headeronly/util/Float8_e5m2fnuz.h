// c10::Float8_e5m2fnuz: 8 bits, 5 of exponent, 2 of mantissa; no infinities, one zero, and 0x80 is NaN.
#ifndef CUDA_WHEEL_PYTORCH_FLOAT8_E5M2FNUZ_H
#define CUDA_WHEEL_PYTORCH_FLOAT8_E5M2FNUZ_H

#include <cstdint>
#include <cuda_wheel_detail/pytorch/reduced_float.h>
#include <iosfwd>
#include <limits>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/Float8_fnuz_cvt.h>
#include <torch/headeronly/util/floating_point_utils.h>

namespace c10 {

struct alignas(1) Float8_e5m2fnuz {
  uint8_t x;

  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return from_bits_t(); }

  Float8_e5m2fnuz() = default;
  constexpr C10_HOST_DEVICE Float8_e5m2fnuz(uint8_t bits, from_bits_t) : x(bits) {}
  inline C10_HOST_DEVICE Float8_e5m2fnuz(float value);
  inline C10_HOST_DEVICE operator float() const;
  inline C10_HOST_DEVICE bool isnan() const;
  inline C10_HOST_DEVICE bool isinf() const;
};

std::ostream& operator<<(std::ostream& out, const Float8_e5m2fnuz& value);

namespace detail {

// Rounds to nearest, ties to even. Below the normal numbers the addition of a float does it, whose last bit has the
// weight of the smallest denormal number; else half of the last bit, less one, is added, and the last bit itself.
inline C10_HOST_DEVICE uint8_t fp8e5m2fnuz_from_fp32_value(float value) {
  const uint32_t bits = fp32_to_bits(value);
  const uint32_t sign = bits & 0x80000000u;
  uint32_t magnitude = bits ^ sign;
  if (magnitude >= (0x8Fu << 23)) return 0x80;
  uint32_t result;
  if (magnitude < (0x70u << 23)) {
    constexpr uint32_t last_bit = 0x85u << 23;
    result = static_cast<uint8_t>(fp32_to_bits(fp32_from_bits(magnitude) + fp32_from_bits(last_bit)) - last_bit);
    // There is no negative zero: its bits are those of NaN.
    if (result == 0) return 0;
  } else {
    const uint8_t odd = (magnitude >> 21) & 1u;
    magnitude += (static_cast<uint32_t>(16 - 127) << 23) + 0xfffffu;
    magnitude += odd;
    result = static_cast<uint8_t>(magnitude >> 21);
  }
  return result | (sign >> 24);
}

}

inline C10_HOST_DEVICE Float8_e5m2fnuz::Float8_e5m2fnuz(float value) : x(detail::fp8e5m2fnuz_from_fp32_value(value)) {}
inline C10_HOST_DEVICE Float8_e5m2fnuz::operator float() const { return detail::fp8_fnuz_to_fp32_value<5, 2>(x); }
inline C10_HOST_DEVICE bool Float8_e5m2fnuz::isnan() const { return x == 0x80; }
inline C10_HOST_DEVICE bool Float8_e5m2fnuz::isinf() const { return false; }

CUDA_WHEEL_OPERATORS_OF_REDUCED_FLOAT(Float8_e5m2fnuz)

inline C10_HOST_DEVICE Float8_e5m2fnuz operator-(const Float8_e5m2fnuz& a) { return -static_cast<float>(a); }

}

namespace torch {
namespace headeronly {
using c10::Float8_e5m2fnuz;
CUDA_WHEEL_USING_OPERATORS_OF_REDUCED_FLOAT
namespace detail {
using c10::detail::fp8e5m2fnuz_from_fp32_value;
}
}
}

namespace std {
template <>
class numeric_limits<c10::Float8_e5m2fnuz> {
 public:
  CUDA_WHEEL_COMMON_LIMITS
  static constexpr bool is_signed = true;
  static constexpr bool has_infinity = false;
  static constexpr bool has_signaling_NaN = false;
  static constexpr auto has_denorm = true;
  static constexpr auto has_denorm_loss = true;
  static constexpr bool is_iec559 = false;
  static constexpr int digits = 3;
  static constexpr int digits10 = 0;
  static constexpr int max_digits10 = 2;
  static constexpr int min_exponent = -14;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  static constexpr auto tinyness_before = numeric_limits<float>::tinyness_before;
  CUDA_WHEEL_LIMIT(c10::Float8_e5m2fnuz, min, 0x04)
  CUDA_WHEEL_LIMIT(c10::Float8_e5m2fnuz, max, 0x7F)
  CUDA_WHEEL_LIMIT(c10::Float8_e5m2fnuz, lowest, 0xFF)
  CUDA_WHEEL_LIMIT(c10::Float8_e5m2fnuz, epsilon, 0x34)
  CUDA_WHEEL_LIMIT(c10::Float8_e5m2fnuz, round_error, 0x38)
  CUDA_WHEEL_LIMIT(c10::Float8_e5m2fnuz, infinity, 0x80)
  CUDA_WHEEL_LIMIT(c10::Float8_e5m2fnuz, quiet_NaN, 0x80)
  CUDA_WHEEL_LIMIT(c10::Float8_e5m2fnuz, denorm_min, 0x01)
};
}

#endif
