// What PyTorch's floating-point types of 16 and 8 bits have in common: operators and limits.
#ifndef CUDA_WHEEL_PYTORCH_REDUCED_FLOAT_H
#define CUDA_WHEEL_PYTORCH_REDUCED_FLOAT_H

#include <algorithm>
#include <cstdint>
#ifdef CUDA_WHEEL_WITHOUT_OUTPUT_STREAMS
#include <iosfwd>
#else
#include <ostream>
#endif
#include <limits>
#include <torch/headeronly/macros/Macros.h>

// The operators of Type, for namespace c10. Arithmetic is in float; with a double, in double; with an integer, the
// integer is converted to Type first. There are no comparisons: operands are converted to float.
#define CUDA_WHEEL_OPERATOR_OF_REDUCED_FLOAT(Type, op)                                                             \
  C10_HOST_DEVICE inline Type operator op(const Type& a, const Type& b) {                                          \
    return static_cast<float>(a) op static_cast<float>(b);                                                         \
  }                                                                                                                \
  C10_HOST_DEVICE inline Type& operator op##=(Type& a, const Type& b) { return a = a op b; }                       \
  C10_HOST_DEVICE inline float& operator op##=(float& a, const Type& b) { return a op##= static_cast<float>(b); } \
  C10_HOST_DEVICE inline float operator op(Type a, float b) { return static_cast<float>(a) op b; }                 \
  C10_HOST_DEVICE inline float operator op(float a, Type b) { return a op static_cast<float>(b); }                 \
  C10_HOST_DEVICE inline double operator op(Type a, double b) { return static_cast<double>(a) op b; }              \
  C10_HOST_DEVICE inline double operator op(double a, Type b) { return a op static_cast<double>(b); }              \
  C10_HOST_DEVICE inline Type operator op(Type a, int b) { return a op static_cast<Type>(b); }                     \
  C10_HOST_DEVICE inline Type operator op(int a, Type b) { return static_cast<Type>(a) op b; }                     \
  C10_HOST_DEVICE inline Type operator op(Type a, int64_t b) { return a op static_cast<Type>(b); }                 \
  C10_HOST_DEVICE inline Type operator op(int64_t a, Type b) { return static_cast<Type>(a) op b; }

#define CUDA_WHEEL_OPERATORS_OF_REDUCED_FLOAT(Type) \
  CUDA_WHEEL_OPERATOR_OF_REDUCED_FLOAT(Type, +)     \
  CUDA_WHEEL_OPERATOR_OF_REDUCED_FLOAT(Type, -)     \
  CUDA_WHEEL_OPERATOR_OF_REDUCED_FLOAT(Type, *)     \
  CUDA_WHEEL_OPERATOR_OF_REDUCED_FLOAT(Type, /)

// These operators in another namespace.
#define CUDA_WHEEL_USING_OPERATORS_OF_REDUCED_FLOAT \
  using c10::operator+;                             \
  using c10::operator-;                             \
  using c10::operator*;                             \
  using c10::operator/;                             \
  using c10::operator+=;                            \
  using c10::operator-=;                            \
  using c10::operator*=;                            \
  using c10::operator/=;                            \
  using c10::operator<<;

// The members of std::numeric_limits<Type> that every such type has with the same value.
#define CUDA_WHEEL_COMMON_LIMITS                                           \
  static constexpr bool is_specialized = true;                             \
  static constexpr bool is_integer = false;                                \
  static constexpr bool is_exact = false;                                  \
  static constexpr bool has_quiet_NaN = true;                              \
  static constexpr auto round_style = numeric_limits<float>::round_style;  \
  static constexpr bool is_bounded = true;                                 \
  static constexpr bool is_modulo = false;                                 \
  static constexpr int radix = 2;                                          \
  static constexpr auto traps = numeric_limits<float>::traps;

// A function of std::numeric_limits<Type>, whose result has these bits.
#define CUDA_WHEEL_LIMIT(Type, name, bits) \
  static constexpr Type name() { return Type(bits, Type::from_bits()); }

#endif
