// c10::BFloat16: brain floating point, in device code by the conversions of <cuda_bf16.h>.
#ifndef CUDA_WHEEL_PYTORCH_BFLOAT16_H
#define CUDA_WHEEL_PYTORCH_BFLOAT16_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_wheel_detail/pytorch/reduced_float.h>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/bit_cast.h>

namespace c10 {

struct alignas(2) BFloat16 {
  uint16_t x;

  BFloat16() = default;

  struct from_bits_t {};
  static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return from_bits_t(); }

  constexpr C10_HOST_DEVICE BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  inline C10_HOST_DEVICE BFloat16(float value);
  inline C10_HOST_DEVICE operator float() const;
  inline C10_HOST_DEVICE BFloat16(const __nv_bfloat16& value);
  explicit inline C10_HOST_DEVICE operator __nv_bfloat16() const;
};

std::ostream& operator<<(std::ostream& out, const BFloat16& value);

namespace detail {

inline C10_HOST_DEVICE float f32_from_bits(uint16_t bits) { return __uint_as_float(static_cast<uint32_t>(bits) << 16); }
inline C10_HOST_DEVICE uint16_t bits_from_f32(float value) {
  return static_cast<uint16_t>(__float_as_uint(value) >> 16);
}
inline C10_HOST_DEVICE uint16_t round_to_nearest_even(float value) {
  if (::isnan(value)) return 0x7FC0;
  const uint32_t bits = __float_as_uint(value);
  return static_cast<uint16_t>((bits + (((bits >> 16) & 1u) + 0x7FFFu)) >> 16);
}

}

// Below sm_80, PyTorch rounds by itself: NaN becomes 0x7FC0, where <cuda_bf16.h> has 0x7FFF.
#if __CUDA_ARCH__ >= 800
inline C10_HOST_DEVICE BFloat16::BFloat16(float value) : x(__bfloat16_as_ushort(__float2bfloat16(value))) {}
#else
inline C10_HOST_DEVICE BFloat16::BFloat16(float value) : x(detail::round_to_nearest_even(value)) {}
#endif
inline C10_HOST_DEVICE BFloat16::operator float() const {
  return __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(&x));
}
inline C10_HOST_DEVICE BFloat16::BFloat16(const __nv_bfloat16& value) {
  x = *reinterpret_cast<const unsigned short*>(&value);
}
inline C10_HOST_DEVICE BFloat16::operator __nv_bfloat16() const { return *reinterpret_cast<const __nv_bfloat16*>(&x); }

inline C10_DEVICE BFloat16 __ldg(const BFloat16* address) {
#if __CUDA_ARCH__ >= 800
  return __ldg(reinterpret_cast<const __nv_bfloat16*>(address));
#else
  return *address;
#endif
}

CUDA_WHEEL_OPERATORS_OF_REDUCED_FLOAT(BFloat16)

inline C10_HOST_DEVICE BFloat16 operator-(const BFloat16& a) { return -static_cast<float>(a); }

inline C10_HOST_DEVICE BFloat16& operator|(BFloat16& a, const BFloat16& b) {
  a.x = a.x | b.x;
  return a;
}
inline C10_HOST_DEVICE BFloat16& operator^(BFloat16& a, const BFloat16& b) {
  a.x = a.x ^ b.x;
  return a;
}
inline C10_HOST_DEVICE BFloat16& operator&(BFloat16& a, const BFloat16& b) {
  a.x = a.x & b.x;
  return a;
}

inline C10_HOST_DEVICE bool operator>(BFloat16& a, BFloat16& b) { return float(a) > float(b); }
inline C10_HOST_DEVICE bool operator<(BFloat16& a, BFloat16& b) { return float(a) < float(b); }

}

namespace torch {
namespace headeronly {
using c10::BFloat16;
CUDA_WHEEL_USING_OPERATORS_OF_REDUCED_FLOAT
using c10::operator<;
using c10::operator>;
namespace detail {
using c10::detail::bits_from_f32;
using c10::detail::f32_from_bits;
using c10::detail::round_to_nearest_even;
}
}
}

namespace std {
template <>
class numeric_limits<c10::BFloat16> {
 public:
  CUDA_WHEEL_COMMON_LIMITS
  static constexpr bool is_signed = true;
  static constexpr bool has_infinity = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr auto has_denorm = numeric_limits<float>::has_denorm;
  static constexpr auto has_denorm_loss = numeric_limits<float>::has_denorm_loss;
  static constexpr bool is_iec559 = false;
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int min_exponent = -125;
  static constexpr int min_exponent10 = -37;
  static constexpr int max_exponent = 128;
  static constexpr int max_exponent10 = 38;
  static constexpr auto tinyness_before = numeric_limits<float>::tinyness_before;
  CUDA_WHEEL_LIMIT(c10::BFloat16, min, 0x0080)
  CUDA_WHEEL_LIMIT(c10::BFloat16, lowest, 0xFF7F)
  CUDA_WHEEL_LIMIT(c10::BFloat16, max, 0x7F7F)
  CUDA_WHEEL_LIMIT(c10::BFloat16, epsilon, 0x3C00)
  CUDA_WHEEL_LIMIT(c10::BFloat16, round_error, 0x3F00)
  CUDA_WHEEL_LIMIT(c10::BFloat16, infinity, 0x7F80)
  CUDA_WHEEL_LIMIT(c10::BFloat16, quiet_NaN, 0x7FC0)
  CUDA_WHEEL_LIMIT(c10::BFloat16, signaling_NaN, 0x7F80)
  CUDA_WHEEL_LIMIT(c10::BFloat16, denorm_min, 0x0001)
};
}

#endif
