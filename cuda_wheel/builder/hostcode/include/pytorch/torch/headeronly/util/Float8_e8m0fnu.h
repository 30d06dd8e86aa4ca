// c10::Float8_e8m0fnu: 8 bits, all of exponent: a power of two. It has no arithmetic of its own.
#ifndef CUDA_WHEEL_PYTORCH_FLOAT8_E8M0FNU_H
#define CUDA_WHEEL_PYTORCH_FLOAT8_E8M0FNU_H

#include <cstdint>
#include <cuda_wheel_detail/pytorch/reduced_float.h>
#include <iosfwd>
#include <limits>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/floating_point_utils.h>

namespace c10 {

struct alignas(1) Float8_e8m0fnu {
  uint8_t x;

  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return from_bits_t(); }

  Float8_e8m0fnu() = default;
  constexpr C10_HOST_DEVICE Float8_e8m0fnu(uint8_t bits, from_bits_t) : x(bits) {}
  inline C10_HOST_DEVICE Float8_e8m0fnu(float value);
  inline C10_HOST_DEVICE operator float() const;
  inline C10_HOST_DEVICE bool isnan() const;
};

std::ostream& operator<<(std::ostream& out, const Float8_e8m0fnu& value);

namespace detail {

// Rounds to nearest; a tie of two powers goes up, but for denormal floats, where it goes down.
inline C10_HOST_DEVICE uint8_t fp8e8m0fnu_from_fp32_value(float value) {
  const uint32_t bits = fp32_to_bits(value);
  const uint32_t exponent = (bits >> 23) & 0xFFu;
  if (exponent == 0xFFu) return 0xFF;
  const bool half = bits & 0x400000u;
  const bool more = bits & 0x3FFFFFu;
  return static_cast<uint8_t>(half && (more || exponent > 0) ? exponent + 1 : exponent);
}

}

inline C10_HOST_DEVICE Float8_e8m0fnu::Float8_e8m0fnu(float value) : x(detail::fp8e8m0fnu_from_fp32_value(value)) {}
inline C10_HOST_DEVICE Float8_e8m0fnu::operator float() const {
  if (x == 0) return detail::fp32_from_bits(0x00400000u);
  if (isnan()) return detail::fp32_from_bits(0x7F800001u);
  return detail::fp32_from_bits(static_cast<uint32_t>(x) << 23);
}
inline C10_HOST_DEVICE bool Float8_e8m0fnu::isnan() const { return x == 0xFF; }

}

namespace torch {
namespace headeronly {
using c10::Float8_e8m0fnu;
using c10::operator<<;
namespace detail {
using c10::detail::fp8e8m0fnu_from_fp32_value;
}
}
}

namespace std {
template <>
class numeric_limits<c10::Float8_e8m0fnu> {
 public:
  CUDA_WHEEL_COMMON_LIMITS
  static constexpr bool is_signed = false;
  static constexpr bool has_infinity = false;
  static constexpr bool has_signaling_NaN = false;
  static constexpr auto has_denorm = false;
  static constexpr auto has_denorm_loss = false;
  static constexpr bool is_iec559 = false;
  static constexpr int digits = 1;
  static constexpr int digits10 = 0;
  static constexpr int max_digits10 = 1;
  static constexpr int min_exponent = -126;
  static constexpr int min_exponent10 = -38;
  static constexpr int max_exponent = 128;
  static constexpr int max_exponent10 = 38;
  static constexpr auto tinyness_before = false;
  CUDA_WHEEL_LIMIT(c10::Float8_e8m0fnu, min, 0x00)
  CUDA_WHEEL_LIMIT(c10::Float8_e8m0fnu, lowest, 0x00)
  CUDA_WHEEL_LIMIT(c10::Float8_e8m0fnu, max, 0xFE)
  CUDA_WHEEL_LIMIT(c10::Float8_e8m0fnu, epsilon, 0x7F)
  CUDA_WHEEL_LIMIT(c10::Float8_e8m0fnu, round_error, 0x7E)
  CUDA_WHEEL_LIMIT(c10::Float8_e8m0fnu, quiet_NaN, 0xFF)
};
}

#endif
