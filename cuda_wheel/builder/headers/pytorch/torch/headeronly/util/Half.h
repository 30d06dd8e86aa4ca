// c10::Half: half precision, in device code by the conversions of <cuda_fp16.h>.
#ifndef CUDA_WHEEL_PYTORCH_HALF_H
#define CUDA_WHEEL_PYTORCH_HALF_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_fp16.h>
#include <cuda_wheel_detail/pytorch/reduced_float.h>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/bit_cast.h>
#include <torch/headeronly/util/floating_point_utils.h>

namespace c10 {

struct alignas(2) Half {
  unsigned short x;

  struct from_bits_t {};
  C10_HOST_DEVICE static constexpr from_bits_t from_bits() { return from_bits_t(); }

  Half() = default;
  constexpr C10_HOST_DEVICE Half(unsigned short bits, from_bits_t) : x(bits) {}
  inline C10_HOST_DEVICE Half(float value);
  inline C10_HOST_DEVICE operator float() const;
  inline C10_HOST_DEVICE Half(const __half& value);
  inline C10_HOST_DEVICE operator __half() const;
};

std::ostream& operator<<(std::ostream& out, const Half& value);

inline C10_HOST_DEVICE Half::Half(float value) : x(__half_as_short(__float2half(value))) {}
inline C10_HOST_DEVICE Half::operator float() const { return __half2float(*reinterpret_cast<const __half*>(&x)); }
inline C10_HOST_DEVICE Half::Half(const __half& value) { x = *reinterpret_cast<const unsigned short*>(&value); }
inline C10_HOST_DEVICE Half::operator __half() const { return *reinterpret_cast<const __half*>(&x); }

inline __device__ Half __ldg(const Half* address) { return __ldg(reinterpret_cast<const __half*>(address)); }

CUDA_WHEEL_OPERATORS_OF_REDUCED_FLOAT(Half)

inline C10_HOST_DEVICE Half operator-(const Half& a) { return __hneg(a); }

namespace detail {

// By multiplication and subtraction of floats: the exponent of a normal number is moved, then scaled by 2^-112; a
// denormal number is put below the point of 0.5, which is subtracted.
C10_HOST_DEVICE inline float fp16_ieee_to_fp32_value(uint16_t half) {
  const uint32_t sign = (static_cast<uint32_t>(half) << 16) & 0x80000000u;
  const uint32_t magnitude = static_cast<uint32_t>(half) << 17;
  const float normal = fp32_from_bits((magnitude >> 4) + (0xE0u << 23)) * fp32_from_bits(15u << 23);
  const float denormal = fp32_from_bits((magnitude >> 17) | (126u << 23)) - 0.5f;
  return fp32_from_bits(sign | (magnitude < (1u << 27) ? fp32_to_bits(denormal) : fp32_to_bits(normal)));
}

uint16_t fp16_ieee_from_fp32_value(float value);
uint32_t fp16_ieee_to_fp32_bits(uint16_t half);

}
}

namespace torch {
namespace headeronly {
using c10::Half;
CUDA_WHEEL_USING_OPERATORS_OF_REDUCED_FLOAT
namespace detail {
using c10::detail::fp16_ieee_from_fp32_value;
using c10::detail::fp16_ieee_to_fp32_bits;
using c10::detail::fp16_ieee_to_fp32_value;
}
}
}

namespace std {
template <>
class numeric_limits<c10::Half> {
 public:
  CUDA_WHEEL_COMMON_LIMITS
  static constexpr bool is_signed = true;
  static constexpr bool has_infinity = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr auto has_denorm = numeric_limits<float>::has_denorm;
  static constexpr auto has_denorm_loss = numeric_limits<float>::has_denorm_loss;
  static constexpr bool is_iec559 = true;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  static constexpr auto tinyness_before = numeric_limits<float>::tinyness_before;
  CUDA_WHEEL_LIMIT(c10::Half, min, 0x0400)
  CUDA_WHEEL_LIMIT(c10::Half, lowest, 0xFBFF)
  CUDA_WHEEL_LIMIT(c10::Half, max, 0x7BFF)
  CUDA_WHEEL_LIMIT(c10::Half, epsilon, 0x1400)
  CUDA_WHEEL_LIMIT(c10::Half, round_error, 0x3800)
  CUDA_WHEEL_LIMIT(c10::Half, infinity, 0x7C00)
  CUDA_WHEEL_LIMIT(c10::Half, quiet_NaN, 0x7E00)
  CUDA_WHEEL_LIMIT(c10::Half, signaling_NaN, 0x7D00)
  CUDA_WHEEL_LIMIT(c10::Half, denorm_min, 0x0001)
};
}

#endif
