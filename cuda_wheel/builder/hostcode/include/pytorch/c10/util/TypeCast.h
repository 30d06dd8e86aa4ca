// c10::convert: conversion between any two element types, with the real part of a complex number for a real one.
#ifndef CUDA_WHEEL_PYTORCH_TYPE_CAST_H
#define CUDA_WHEEL_PYTORCH_TYPE_CAST_H

#include <c10/macros/Macros.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Float8_e5m2fnuz.h>
#include <c10/util/Float8_e8m0fnu.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
#include <c10/util/overflows.h>
#include <type_traits>

namespace c10 {

template <typename dest_t, typename src_t>
struct needs_real {
  constexpr static bool value = (is_complex<src_t>::value && !is_complex<dest_t>::value);
};

template <bool, typename src_t>
struct maybe_real {
  C10_HOST_DEVICE static inline src_t apply(src_t src) { return src; }
};
template <typename src_t>
struct maybe_real<true, src_t> {
  C10_HOST_DEVICE static inline decltype(auto) apply(src_t src) { return src.real(); }
};

template <bool, typename src_t>
struct maybe_bool {
  C10_HOST_DEVICE static inline src_t apply(src_t src) { return src; }
};
template <typename src_t>
struct maybe_bool<true, src_t> {
  C10_HOST_DEVICE static inline decltype(auto) apply(src_t src) { return src.real() || src.imag(); }
};

template <typename dest_t, typename src_t>
struct static_cast_with_inter_type {
  C10_HOST_DEVICE static inline dest_t apply(src_t src) {
    return static_cast<dest_t>(maybe_real<needs_real<dest_t, src_t>::value, src_t>::apply(src));
  }
};
template <typename src_t>
struct static_cast_with_inter_type<bool, src_t> {
  C10_HOST_DEVICE static inline bool apply(src_t src) {
    return static_cast<bool>(maybe_bool<needs_real<bool, src_t>::value, src_t>::apply(src));
  }
};
// A negative number becomes an unsigned byte by way of a signed integer.
template <typename src_t>
struct static_cast_with_inter_type<uint8_t, src_t> {
  C10_HOST_DEVICE static inline uint8_t apply(src_t src) {
    return static_cast<uint8_t>(
        static_cast<int64_t>(maybe_real<needs_real<uint8_t, src_t>::value, src_t>::apply(src)));
  }
};

// complex<Half> is made from complex<float> alone.
#define CUDA_WHEEL_COMPLEX_HALF_FROM(src_t, as_complex_float)                               \
  template <>                                                                               \
  struct static_cast_with_inter_type<c10::complex<c10::Half>, src_t> {                      \
    C10_HOST_DEVICE static inline c10::complex<c10::Half> apply(src_t src) {                \
      return static_cast<c10::complex<c10::Half>>(as_complex_float);                        \
    }                                                                                       \
  };
CUDA_WHEEL_COMPLEX_HALF_FROM(c10::BFloat16, c10::complex<float>{src})
CUDA_WHEEL_COMPLEX_HALF_FROM(c10::Float8_e5m2, c10::complex<float>{src})
CUDA_WHEEL_COMPLEX_HALF_FROM(c10::Float8_e5m2fnuz, c10::complex<float>{src})
CUDA_WHEEL_COMPLEX_HALF_FROM(c10::Float8_e4m3fn, c10::complex<float>{src})
CUDA_WHEEL_COMPLEX_HALF_FROM(c10::Float8_e4m3fnuz, c10::complex<float>{src})
CUDA_WHEEL_COMPLEX_HALF_FROM(c10::Float8_e8m0fnu, c10::complex<float>{src})
CUDA_WHEEL_COMPLEX_HALF_FROM(c10::Half, c10::complex<float>{src})
CUDA_WHEEL_COMPLEX_HALF_FROM(c10::complex<double>, static_cast<c10::complex<float>>(src))
#undef CUDA_WHEEL_COMPLEX_HALF_FROM

template <typename To, typename From>
C10_HOST_DEVICE To convert(From f) {
  return static_cast_with_inter_type<To, From>::apply(f);
}

[[noreturn]] void report_overflow(const char* name);

template <typename To, typename From>
To checked_convert(From f, const char* name) {
  if (!std::is_same<To, bool>::value && overflows<To, From>(f)) report_overflow(name);
  return convert<To, From>(f);
}

}

#endif
