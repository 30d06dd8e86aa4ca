// c10::Float8_e4m3fn: 8 bits, 4 of exponent, 3 of mantissa; no infinities. A value that is too large becomes NaN.
#ifndef CUDA_WHEEL_PYTORCH_FLOAT8_E4M3FN_H
#define CUDA_WHEEL_PYTORCH_FLOAT8_E4M3FN_H

#include <cstdint>
#include <cuda_wheel_detail/pytorch/reduced_float.h>
#include <iosfwd>
#include <limits>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/floating_point_utils.h>

namespace c10 {

struct alignas(1) Float8_e4m3fn {
  uint8_t x;

  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return from_bits_t(); }

  Float8_e4m3fn() = default;
  constexpr C10_HOST_DEVICE Float8_e4m3fn(uint8_t bits, from_bits_t) : x(bits) {}
  inline C10_HOST_DEVICE Float8_e4m3fn(float value);
  inline C10_HOST_DEVICE operator float() const;
  inline C10_HOST_DEVICE bool isnan() const;
};

std::ostream& operator<<(std::ostream& out, const Float8_e4m3fn& value);

namespace detail {

// Denormal numbers are normalised by a shift; the exponents' biases differ by 0x78.
inline C10_HOST_DEVICE float fp8e4m3fn_to_fp32_value(uint8_t input) {
  const uint32_t word = static_cast<uint32_t>(input) << 24;
  const uint32_t sign = word & 0x80000000u;
  const uint32_t magnitude = word & 0x7FFFFFFFu;
  uint32_t shift = __clz(magnitude);
  shift = shift > 4 ? shift - 4 : 0;
  const int32_t nan = (static_cast<int32_t>(magnitude + 0x01000000u) >> 8) & 0x7F800000;
  const int32_t zero = static_cast<int32_t>(magnitude - 1) >> 31;
  const uint32_t number = (magnitude << shift >> 4) + ((0x78 - shift) << 23);
  return fp32_from_bits(sign | ((number | nan) & ~zero));
}

// Rounds to nearest, ties to even. Below the normal numbers the addition of a float does it, whose last bit has the
// weight of the smallest denormal number; else half of the last bit, less one, is added, and the last bit itself.
inline C10_HOST_DEVICE uint8_t fp8e4m3fn_from_fp32_value(float value) {
  const uint32_t bits = fp32_to_bits(value);
  const uint32_t sign = bits & 0x80000000u;
  uint32_t magnitude = bits ^ sign;
  uint8_t result;
  if (magnitude >= (1087u << 20)) {
    result = 0x7F;
  } else if (magnitude < (121u << 23)) {
    constexpr uint32_t last_bit = 141u << 23;
    result = static_cast<uint8_t>(fp32_to_bits(fp32_from_bits(magnitude) + fp32_from_bits(last_bit)) - last_bit);
  } else {
    const uint8_t odd = (magnitude >> 20) & 1u;
    magnitude += (static_cast<uint32_t>(7 - 127) << 23) + 0x7ffffu;
    magnitude += odd;
    result = static_cast<uint8_t>(magnitude >> 20);
  }
  return static_cast<uint8_t>(result | (sign >> 24));
}

}

inline C10_HOST_DEVICE Float8_e4m3fn::Float8_e4m3fn(float value) : x(detail::fp8e4m3fn_from_fp32_value(value)) {}
inline C10_HOST_DEVICE Float8_e4m3fn::operator float() const { return detail::fp8e4m3fn_to_fp32_value(x); }
inline C10_HOST_DEVICE bool Float8_e4m3fn::isnan() const { return (x & 0x7F) == 0x7F; }

CUDA_WHEEL_OPERATORS_OF_REDUCED_FLOAT(Float8_e4m3fn)

inline C10_HOST_DEVICE Float8_e4m3fn operator-(const Float8_e4m3fn& a) { return -static_cast<float>(a); }

}

namespace torch {
namespace headeronly {
using c10::Float8_e4m3fn;
CUDA_WHEEL_USING_OPERATORS_OF_REDUCED_FLOAT
namespace detail {
using c10::detail::fp8e4m3fn_from_fp32_value;
using c10::detail::fp8e4m3fn_to_fp32_value;
}
}
}

namespace std {
template <>
class numeric_limits<c10::Float8_e4m3fn> {
 public:
  CUDA_WHEEL_COMMON_LIMITS
  static constexpr bool is_signed = true;
  static constexpr bool has_infinity = false;
  static constexpr bool has_signaling_NaN = false;
  static constexpr auto has_denorm = true;
  static constexpr auto has_denorm_loss = true;
  static constexpr bool is_iec559 = false;
  static constexpr int digits = 4;
  static constexpr int digits10 = 0;
  static constexpr int max_digits10 = 3;
  static constexpr int min_exponent = -5;
  static constexpr int min_exponent10 = -1;
  static constexpr int max_exponent = 8;
  static constexpr int max_exponent10 = 2;
  static constexpr auto tinyness_before = false;
  CUDA_WHEEL_LIMIT(c10::Float8_e4m3fn, min, 0x08)
  CUDA_WHEEL_LIMIT(c10::Float8_e4m3fn, lowest, 0xFE)
  CUDA_WHEEL_LIMIT(c10::Float8_e4m3fn, max, 0x7E)
  CUDA_WHEEL_LIMIT(c10::Float8_e4m3fn, epsilon, 0x20)
  CUDA_WHEEL_LIMIT(c10::Float8_e4m3fn, round_error, 0x30)
  CUDA_WHEEL_LIMIT(c10::Float8_e4m3fn, quiet_NaN, 0x7F)
  CUDA_WHEEL_LIMIT(c10::Float8_e4m3fn, denorm_min, 0x01)
};
}

#endif
