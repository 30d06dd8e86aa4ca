// <math.h> for NVRTC: constants, and overloads of the functions that NVRTC predeclares.
#ifndef CUDA_WHEEL_MATH_H
#define CUDA_WHEEL_MATH_H

#include "cuda_wheel_detail/infinity_macros.h"

#define HUGE_VAL (__builtin_bit_cast(double, 0x7ff0000000000000LL))
#define HUGE_VALF INFINITY

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

// Neither macros nor global: CUTLASS defines global enumerators of these names for NVRTC, and then macros.
namespace cuda_wheel_detail {
namespace math {
enum { FP_NAN, FP_INFINITE, FP_ZERO, FP_SUBNORMAL, FP_NORMAL };
}
}
#ifndef FP_ILOGB0
#define FP_ILOGB0 (-2147483647 - 1)
#endif
#ifndef FP_ILOGBNAN
#define FP_ILOGBNAN (-2147483647 - 1)
#endif

typedef float float_t;
typedef double double_t;

// NVRTC predeclares the functions for float and double only, so that sqrt(2) or fmax(1.0f, 2.0) is ambiguous. The
// overloads that nvcc takes from the host library are added here: integers and mixed arguments are converted to double.
// They are in a separate namespace, so that `using ::sqrt` (in libcu++) still finds only NVRTC's functions.
namespace cuda_wheel_detail {
template <bool condition, class Type = double>
struct when {};
template <class Type>
struct when<true, Type> { typedef Type type; };

// 0: none of these; 1: converts to int by promotion; 2: a wider integer; 3: float; 4: double. Enumerators, because NVRTC
// emits static members into each image.
template <class Type> struct rank { enum { value = 0 }; };
template <> struct rank<bool> { enum { value = 1 }; };
template <> struct rank<char> { enum { value = 1 }; };
template <> struct rank<signed char> { enum { value = 1 }; };
template <> struct rank<unsigned char> { enum { value = 1 }; };
template <> struct rank<wchar_t> { enum { value = 1 }; };
template <> struct rank<char16_t> { enum { value = 1 }; };
template <> struct rank<short> { enum { value = 1 }; };
template <> struct rank<unsigned short> { enum { value = 1 }; };
template <> struct rank<int> { enum { value = 1 }; };
template <> struct rank<unsigned> { enum { value = 2 }; };
template <> struct rank<long> { enum { value = 2 }; };
template <> struct rank<unsigned long> { enum { value = 2 }; };
template <> struct rank<long long> { enum { value = 2 }; };
template <> struct rank<unsigned long long> { enum { value = 2 }; };
template <> struct rank<char32_t> { enum { value = 2 }; };
template <> struct rank<float> { enum { value = 3 }; };
template <> struct rank<double> { enum { value = 4 }; };

template <class Type>
struct integer { enum : bool { value = rank<Type>::value == 1 || rank<Type>::value == 2 }; };
template <class _A, class _B>
struct mixed {
  enum { a = rank<_A>::value, b = rank<_B>::value };
  enum : bool { value = int(a) != 0 && int(b) != 0 && !(int(a) == int(b) && int(a) >= 3) };
};
// Of std::pow. For arguments of one type, calls of ::pow take NVRTC's functions, which are no templates.
template <class _A, class _B, bool is_mixed = mixed<_A, _B>::value>
struct power {};
template <class _A, class _B>
struct power<_A, _B, true> {
  typedef double type;
  __host__ __device__ static double of(_A a, _B b) { return ::pow(static_cast<double>(a), static_cast<double>(b)); }
};
template <>
struct power<double, double, false> : power<double, double, true> {};
template <>
struct power<float, float, false> {
  typedef float type;
  __host__ __device__ static float of(float a, float b) { return ::powf(a, b); }
};

namespace math {
#define CUDA_WHEEL_OF_INTEGER(result, name) \
  template <class _A>                       \
  __host__ __device__ inline typename when<integer<_A>::value, result>::type name(_A a) { return ::name(static_cast<double>(a)); }
#define CUDA_WHEEL_OF_MIXED(condition, name) \
  template <class _A, class _B>              \
  __host__ __device__ inline typename when<condition<_A, _B>::value>::type name(_A a, _B b) { return ::name(static_cast<double>(a), static_cast<double>(b)); }
#define CUDA_WHEEL_COMPARISON(name, expression) \
  template <class _A, class _B>                 \
  __host__ __device__ inline typename when<rank<_A>::value != 0 && rank<_B>::value != 0, bool>::type name(_A a, _B b) { return expression; }

CUDA_WHEEL_OF_INTEGER(double, acos)
CUDA_WHEEL_OF_INTEGER(double, acosh)
CUDA_WHEEL_OF_INTEGER(double, asin)
CUDA_WHEEL_OF_INTEGER(double, asinh)
CUDA_WHEEL_OF_INTEGER(double, atan)
CUDA_WHEEL_OF_INTEGER(double, atanh)
CUDA_WHEEL_OF_INTEGER(double, cbrt)
CUDA_WHEEL_OF_INTEGER(double, ceil)
CUDA_WHEEL_OF_INTEGER(double, cos)
CUDA_WHEEL_OF_INTEGER(double, cosh)
CUDA_WHEEL_OF_INTEGER(double, erf)
CUDA_WHEEL_OF_INTEGER(double, erfc)
CUDA_WHEEL_OF_INTEGER(double, exp)
CUDA_WHEEL_OF_INTEGER(double, exp2)
CUDA_WHEEL_OF_INTEGER(double, expm1)
CUDA_WHEEL_OF_INTEGER(double, fabs)
CUDA_WHEEL_OF_INTEGER(double, floor)
CUDA_WHEEL_OF_INTEGER(double, lgamma)
CUDA_WHEEL_OF_INTEGER(double, log)
CUDA_WHEEL_OF_INTEGER(double, log10)
CUDA_WHEEL_OF_INTEGER(double, log1p)
CUDA_WHEEL_OF_INTEGER(double, log2)
CUDA_WHEEL_OF_INTEGER(double, logb)
CUDA_WHEEL_OF_INTEGER(double, nearbyint)
CUDA_WHEEL_OF_INTEGER(double, rint)
CUDA_WHEEL_OF_INTEGER(double, round)
CUDA_WHEEL_OF_INTEGER(double, sin)
CUDA_WHEEL_OF_INTEGER(double, sinh)
CUDA_WHEEL_OF_INTEGER(double, sqrt)
CUDA_WHEEL_OF_INTEGER(double, tan)
CUDA_WHEEL_OF_INTEGER(double, tanh)
CUDA_WHEEL_OF_INTEGER(double, tgamma)
CUDA_WHEEL_OF_INTEGER(double, trunc)
CUDA_WHEEL_OF_INTEGER(int, ilogb)
CUDA_WHEEL_OF_INTEGER(long, lrint)
CUDA_WHEEL_OF_INTEGER(long long, llrint)
CUDA_WHEEL_OF_INTEGER(long, lround)
CUDA_WHEEL_OF_INTEGER(long long, llround)
CUDA_WHEEL_OF_INTEGER(bool, isfinite)
CUDA_WHEEL_OF_INTEGER(bool, isinf)
CUDA_WHEEL_OF_INTEGER(bool, isnan)
CUDA_WHEEL_OF_INTEGER(bool, signbit)
CUDA_WHEEL_OF_MIXED(mixed, atan2)
CUDA_WHEEL_OF_MIXED(mixed, copysign)
CUDA_WHEEL_OF_MIXED(mixed, fdim)
CUDA_WHEEL_OF_MIXED(mixed, fmax)
CUDA_WHEEL_OF_MIXED(mixed, fmin)
CUDA_WHEEL_OF_MIXED(mixed, fmod)
CUDA_WHEEL_OF_MIXED(mixed, hypot)
CUDA_WHEEL_OF_MIXED(mixed, nextafter)
CUDA_WHEEL_OF_MIXED(mixed, remainder)
template <class _A, class _B>
__host__ __device__ inline typename power<_A, _B>::type pow(_A a, _B b) { return power<_A, _B>::of(a, b); }
// NVRTC has pow(float, int) of type float, and a pow(double, int) that multiplies; nvcc has pow(double, double) for both.
// With these, an unqualified call is ambiguous and is rewritten (builder/rewriting/expressions.py); std::pow takes them.
struct no_argument {};
__host__ __device__ inline double pow(float a, int b, no_argument = no_argument()) { return ::pow(static_cast<double>(a), static_cast<double>(b)); }
__host__ __device__ inline double pow(double a, int b, no_argument = no_argument()) { return ::pow(a, static_cast<double>(b)); }
template <class _A, class _N>
__host__ __device__ inline typename when<integer<_A>::value && rank<_N>::value != 0>::type ldexp(_A a, _N n) { return ::ldexp(static_cast<double>(a), static_cast<int>(n)); }
template <class _A, class _N>
__host__ __device__ inline typename when<integer<_A>::value && rank<_N>::value != 0>::type scalbn(_A a, _N n) { return ::scalbn(static_cast<double>(a), static_cast<int>(n)); }
template <class _A, class _N>
__host__ __device__ inline typename when<integer<_A>::value && rank<_N>::value != 0>::type scalbln(_A a, _N n) { return ::scalbln(static_cast<double>(a), static_cast<long>(n)); }
template <class _A>
__host__ __device__ inline typename when<integer<_A>::value>::type frexp(_A a, int* exponent) { return ::frexp(static_cast<double>(a), exponent); }
template <class _A, class _B>
__host__ __device__ inline typename when<mixed<_A, _B>::value>::type remquo(_A a, _B b, int* quotient) { return ::remquo(static_cast<double>(a), static_cast<double>(b), quotient); }
template <class _A, class _B, class _C>
__host__ __device__ inline typename when<(mixed<_A, _B>::value || mixed<_B, _C>::value) && rank<_A>::value != 0 && rank<_B>::value != 0 && rank<_C>::value != 0>::type fma(_A a, _B b, _C c) {
  return ::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c));
}
CUDA_WHEEL_COMPARISON(isgreater, a > b)
CUDA_WHEEL_COMPARISON(isgreaterequal, a >= b)
CUDA_WHEEL_COMPARISON(isless, a < b)
CUDA_WHEEL_COMPARISON(islessequal, a <= b)
CUDA_WHEEL_COMPARISON(islessgreater, a < b || a > b)
CUDA_WHEEL_COMPARISON(isunordered, a != a || b != b)

#undef CUDA_WHEEL_OF_INTEGER
#undef CUDA_WHEEL_OF_MIXED
#undef CUDA_WHEEL_COMPARISON

template <class _A>
__host__ __device__ inline typename when<(rank<_A>::value >= 3), int>::type fpclassify(_A a) {
  const _A smallest_normal = rank<_A>::value == 3 ? static_cast<_A>(1.175494351e-38F) : static_cast<_A>(2.2250738585072014e-308);
  return a != a ? FP_NAN : a == 0 ? FP_ZERO : ::isinf(a) ? FP_INFINITE : ::fabs(a) < smallest_normal ? FP_SUBNORMAL : FP_NORMAL;
}
template <class _A>
__host__ __device__ inline typename when<(rank<_A>::value >= 3), bool>::type isnormal(_A a) { return math::fpclassify(a) == FP_NORMAL; }
template <class _A>
__host__ __device__ inline typename when<integer<_A>::value, int>::type fpclassify(_A a) { return a ? FP_NORMAL : FP_ZERO; }
template <class _A>
__host__ __device__ inline typename when<integer<_A>::value, bool>::type isnormal(_A a) { return a != 0; }
}  // namespace math
}  // namespace cuda_wheel_detail

// What builder/rewriting/expressions.py writes around the exponent of a base: an int becomes a long, for which NVRTC has no
// function, and beside a type that converts to float, such as __half, a float, as in nvcc's choice pow(float, float).
namespace cuda_wheel_detail {
template <class _T> struct base_of { typedef _T type; };
template <class _T> struct base_of<_T&> : base_of<_T> {};
template <class _T> struct base_of<_T&&> : base_of<_T> {};
template <class _T> struct base_of<const _T> : base_of<_T> {};
template <class _T, bool _Number = rank<_T>::value != 0, bool _Converts = __is_convertible_to(_T, float)> struct exponent_beside { typedef int type; };
template <class _T> struct exponent_beside<_T, true, true> { typedef long type; };
template <class _T> struct exponent_beside<_T, false, true> { typedef float type; };
template <class _Base>
__host__ __device__ constexpr typename exponent_beside<typename base_of<_Base>::type>::type exponent(int n) { return static_cast<typename exponent_beside<typename base_of<_Base>::type>::type>(n); }
template <class _Base, class _T>
__host__ __device__ constexpr typename when<!__is_enum(typename base_of<_T>::type), _T&&>::type exponent(_T&& n) { return static_cast<_T&&>(n); }
// An enumerator converts to the type of the base: pow(float, float) is nvcc's choice beside a float.
template <class _Base, class _T>
__host__ __device__ constexpr typename when<__is_enum(typename base_of<_T>::type), typename base_of<_Base>::type>::type exponent(_T&& n) { return static_cast<typename base_of<_Base>::type>(n); }
}

using namespace cuda_wheel_detail::math;

#endif
