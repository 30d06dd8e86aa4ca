// c10::complex: a pair of numbers, aligned to its size, with arithmetic that is part of PyTorch.
//
// It is converted to and from std::complex and thrust::complex without their headers, which take longer to compile than
// many kernels.
#ifndef CUDA_WHEEL_PYTORCH_HEADERONLY_COMPLEX_H
#define CUDA_WHEEL_PYTORCH_HEADERONLY_COMPLEX_H

#include <cmath>
#include <iosfwd>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>
#include <type_traits>
#include <utility>
#ifdef CUDA_WHEEL_COMPLEX_FUNCTIONS
#include <complex>
#endif

namespace cuda_wheel_detail {
// The absolute value, in constant expressions too.
template <typename T>
C10_HOST_DEVICE constexpr T magnitude(T x) {
  if (__builtin_is_constant_evaluated()) return x < 0 ? -x : x;
  return ::fabs(x);
}
}

namespace c10 {
template <typename T>
struct complex;
}

namespace cuda_wheel_detail {
template <typename Z>
struct is_other_complex {
  static constexpr bool value = true;
};
template <typename T>
struct is_other_complex<c10::complex<T>> {
  static constexpr bool value = false;
};
// The functions that PyTorch takes from Thrust, with the numbers of <thrust/complex.h>. A file that calls one is compiled
// again with the macro, if it is not defined: the build reads its name in the error.
template <typename T>
struct complex_functions
#ifndef CUDA_WHEEL_COMPLEX_FUNCTIONS
{
  static_assert(sizeof(T) == 0, "functions of c10::complex need the macro CUDA_WHEEL_COMPLEX_FUNCTIONS");
}
#endif
;

// A class with a real and an imaginary part that is not c10::complex.
template <typename Z>
using if_other_complex =
    decltype(std::declval<const Z&>().real(), std::declval<const Z&>().imag(),
             typename std::enable_if<is_other_complex<Z>::value>::type());
}

namespace c10 {

template <typename T>
struct alignas(sizeof(T) * 2) complex {
  using value_type = T;

  T real_ = T(0);
  T imag_ = T(0);

  constexpr complex() = default;
  C10_HOST_DEVICE constexpr complex(const T& re, const T& im = T()) : real_(re), imag_(im) {}

  // From float to double implicitly, from double to float explicitly.
  template <typename U = T>
  C10_HOST_DEVICE explicit constexpr complex(
      const std::enable_if_t<std::is_same<U, float>::value, complex<double>>& other)
      : real_(other.real_), imag_(other.imag_) {}
  template <typename U = T>
  C10_HOST_DEVICE constexpr complex(const std::enable_if_t<std::is_same<U, double>::value, complex<float>>& other)
      : real_(other.real_), imag_(other.imag_) {}

  C10_HOST_DEVICE constexpr complex<T>& operator=(T value) {
    real_ = value;
    imag_ = 0;
    return *this;
  }
  C10_HOST_DEVICE constexpr complex<T>& operator+=(T value) {
    real_ += value;
    return *this;
  }
  C10_HOST_DEVICE constexpr complex<T>& operator-=(T value) {
    real_ -= value;
    return *this;
  }
  C10_HOST_DEVICE constexpr complex<T>& operator*=(T value) {
    real_ *= value;
    imag_ *= value;
    return *this;
  }
  C10_HOST_DEVICE constexpr complex<T>& operator/=(T value) {
    real_ /= value;
    imag_ /= value;
    return *this;
  }

  template <typename U>
  C10_HOST_DEVICE constexpr complex<T>& operator=(const complex<U>& other) {
    real_ = other.real();
    imag_ = other.imag();
    return *this;
  }
  template <typename U>
  C10_HOST_DEVICE constexpr complex<T>& operator+=(const complex<U>& other) {
    real_ += other.real();
    imag_ += other.imag();
    return *this;
  }
  template <typename U>
  C10_HOST_DEVICE constexpr complex<T>& operator-=(const complex<U>& other) {
    real_ -= other.real();
    imag_ -= other.imag();
    return *this;
  }
  template <typename U>
  C10_HOST_DEVICE constexpr complex<T>& operator*=(const complex<U>& other) {
    const T a = real_;
    const T b = imag_;
    const U c = other.real();
    const U d = other.imag();
    real_ = a * c - b * d;
    imag_ = a * d + b * c;
    return *this;
  }
  // The larger part of the divisor is divided out first, so that its square cannot overflow. The order of the
  // operations is PyTorch's, and so is the rounding.
  template <typename U>
  C10_HOST_DEVICE constexpr complex<T>& operator/=(const complex<U>& other) {
    const T a = real_;
    const T b = imag_;
    const U c = other.real();
    const U d = other.imag();
    const auto size_c = cuda_wheel_detail::magnitude(c);
    const auto size_d = cuda_wheel_detail::magnitude(d);
    if (size_c >= size_d) {
      if (size_c == U(0) && size_d == U(0)) {
        real_ = a / size_c;
        imag_ = b / size_d;
      } else {
        const auto ratio = d / c;
        const auto scale = U(1.0) / (c + d * ratio);
        real_ = (a + b * ratio) * scale;
        imag_ = (b - a * ratio) * scale;
      }
    } else {
      const auto ratio = c / d;
      const auto scale = U(1.0) / (d + c * ratio);
      real_ = (a * ratio + b) * scale;
      imag_ = (b * ratio - a) * scale;
    }
    return *this;
  }

  // std::complex and thrust::complex
  template <template <typename> class Other, typename U, typename = cuda_wheel_detail::if_other_complex<Other<U>>>
  C10_HOST_DEVICE explicit constexpr complex(const Other<U>& other) : real_(other.real()), imag_(other.imag()) {}
  template <template <typename> class Other, typename U, typename = cuda_wheel_detail::if_other_complex<Other<U>>>
  C10_HOST_DEVICE constexpr complex<T>& operator=(const Other<U>& other) {
    real_ = other.real();
    imag_ = other.imag();
    return *this;
  }
  template <template <typename> class Other, typename U, typename = cuda_wheel_detail::if_other_complex<Other<U>>>
  C10_HOST_DEVICE explicit constexpr operator Other<U>() const {
    return static_cast<Other<U>>(Other<T>(real(), imag()));
  }

  C10_HOST_DEVICE explicit constexpr operator bool() const { return real() || imag(); }

  C10_HOST_DEVICE constexpr T real() const { return real_; }
  C10_HOST_DEVICE constexpr void real(T value) { real_ = value; }
  C10_HOST_DEVICE constexpr T imag() const { return imag_; }
  C10_HOST_DEVICE constexpr void imag(T value) { imag_ = value; }
};

namespace complex_literals {
C10_HOST_DEVICE constexpr complex<float> operator""_if(long double value) { return complex<float>(0.0f, static_cast<float>(value)); }
C10_HOST_DEVICE constexpr complex<double> operator""_id(long double value) { return complex<double>(0.0, static_cast<double>(value)); }
C10_HOST_DEVICE constexpr complex<float> operator""_if(unsigned long long value) {
  return complex<float>(0.0f, static_cast<float>(value));
}
C10_HOST_DEVICE constexpr complex<double> operator""_id(unsigned long long value) {
  return complex<double>(0.0, static_cast<double>(value));
}
}

template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator+(const complex<T>& a) {
  return a;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator-(const complex<T>& a) {
  return complex<T>(-a.real(), -a.imag());
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator+(const complex<T>& a, const complex<T>& b) {
  complex<T> result = a;
  return result += b;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator+(const complex<T>& a, const T& b) {
  complex<T> result = a;
  return result += b;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator+(const T& a, const complex<T>& b) {
  return complex<T>(a + b.real(), b.imag());
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator-(const complex<T>& a, const complex<T>& b) {
  complex<T> result = a;
  return result -= b;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator-(const complex<T>& a, const T& b) {
  complex<T> result = a;
  return result -= b;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator-(const T& a, const complex<T>& b) {
  complex<T> result = -b;
  return result += a;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator*(const complex<T>& a, const complex<T>& b) {
  complex<T> result = a;
  return result *= b;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator*(const complex<T>& a, const T& b) {
  complex<T> result = a;
  return result *= b;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator*(const T& a, const complex<T>& b) {
  complex<T> result = b;
  return result *= a;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator/(const complex<T>& a, const complex<T>& b) {
  complex<T> result = a;
  return result /= b;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator/(const complex<T>& a, const T& b) {
  complex<T> result = a;
  return result /= b;
}
template <typename T>
C10_HOST_DEVICE constexpr complex<T> operator/(const T& a, const complex<T>& b) {
  complex<T> result(a, T());
  return result /= b;
}

// With an integer, which is converted to the type of the parts.
#define CUDA_WHEEL_COMPLEX_WITH_INTEGER(op)                                                                           \
  template <typename F, typename I,                                                                                   \
            typename std::enable_if_t<std::is_floating_point<F>::value && std::is_integral<I>::value, int> = 0>       \
  C10_HOST_DEVICE constexpr c10::complex<F> operator op(const c10::complex<F>& a, const I& b) {                        \
    return a op static_cast<F>(b);                                                                                    \
  }                                                                                                                   \
  template <typename F, typename I,                                                                                   \
            typename std::enable_if_t<std::is_floating_point<F>::value && std::is_integral<I>::value, int> = 0>       \
  C10_HOST_DEVICE constexpr c10::complex<F> operator op(const I& a, const c10::complex<F>& b) {                        \
    return static_cast<F>(a) op b;                                                                                    \
  }
CUDA_WHEEL_COMPLEX_WITH_INTEGER(+)
CUDA_WHEEL_COMPLEX_WITH_INTEGER(-)
CUDA_WHEEL_COMPLEX_WITH_INTEGER(*)
CUDA_WHEEL_COMPLEX_WITH_INTEGER(/)
#undef CUDA_WHEEL_COMPLEX_WITH_INTEGER

template <typename T>
C10_HOST_DEVICE constexpr bool operator==(const complex<T>& a, const complex<T>& b) {
  return (a.real() == b.real()) && (a.imag() == b.imag());
}
template <typename T>
C10_HOST_DEVICE constexpr bool operator==(const complex<T>& a, const T& b) {
  return (a.real() == b) && (a.imag() == T());
}
template <typename T>
C10_HOST_DEVICE constexpr bool operator==(const T& a, const complex<T>& b) {
  return (a == b.real()) && (T() == b.imag());
}
template <typename T>
C10_HOST_DEVICE constexpr bool operator!=(const complex<T>& a, const complex<T>& b) {
  return !(a == b);
}
template <typename T>
C10_HOST_DEVICE constexpr bool operator!=(const complex<T>& a, const T& b) {
  return !(a == b);
}
template <typename T>
C10_HOST_DEVICE constexpr bool operator!=(const T& a, const complex<T>& b) {
  return !(a == b);
}

template <typename T, typename CharT, typename Traits>
std::basic_ostream<CharT, Traits>& operator<<(std::basic_ostream<CharT, Traits>& out, const complex<T>& value);
template <typename T, typename CharT, typename Traits>
std::basic_istream<CharT, Traits>& operator>>(std::basic_istream<CharT, Traits>& in, complex<T>& value);

template <typename T>
C10_HOST_DEVICE complex<T> polar(const T& radius, const T& angle = T()) {
  return cuda_wheel_detail::complex_functions<T>::polar(radius, angle);
}

// Of two numbers of 16 bits, computed in float. They have only these operators of their own; the others are complex<float>'s.
#define CUDA_WHEEL_COMPLEX_OF(Part)                                                                             \
  template <>                                                                                                   \
  struct alignas(2 * sizeof(Part)) complex<Part> {                                                              \
    typedef complex<float> Wide;                                                                                \
    Part real_;                                                                                                 \
    Part imag_;                                                                                                 \
                                                                                                                \
    complex() = default;                                                                                        \
    explicit inline C10_HOST_DEVICE complex(const Part& re, const Part& im) : real_(re), imag_(im) {}           \
    inline C10_HOST_DEVICE complex(const Wide& wide) : real_(wide.real()), imag_(wide.imag()) {}                \
    inline C10_HOST_DEVICE operator Wide() const { return Wide(real_, imag_); }                                 \
    C10_HOST_DEVICE constexpr Part real() const { return real_; }                                               \
    C10_HOST_DEVICE constexpr Part imag() const { return imag_; }                                               \
    C10_HOST_DEVICE complex& operator+=(const complex& other) {                                                 \
      real_ += other.real_;                                                                                     \
      imag_ += other.imag_;                                                                                     \
      return *this;                                                                                             \
    }                                                                                                           \
    C10_HOST_DEVICE complex& operator-=(const complex& other) {                                                 \
      real_ -= other.real_;                                                                                     \
      imag_ -= other.imag_;                                                                                     \
      return *this;                                                                                             \
    }                                                                                                           \
    C10_HOST_DEVICE complex& operator*=(const complex& other) {                                                 \
      const float x = real_, y = imag_, u = other.real_, v = other.imag_;                                       \
      real_ = x * u - y * v;                                                                                    \
      imag_ = x * v + y * u;                                                                                    \
      return *this;                                                                                             \
    }                                                                                                           \
  };
CUDA_WHEEL_COMPLEX_OF(Half)
CUDA_WHEEL_COMPLEX_OF(BFloat16)
#undef CUDA_WHEEL_COMPLEX_OF

}

namespace torch {
namespace headeronly {

// Whether a type is a complex number, and the type of its parts; another type is its own.
template <typename T>
struct is_complex : std::false_type {};
template <typename T>
struct scalar_value_type {
  using type = T;
};
#define CUDA_WHEEL_IS_COMPLEX(Complex)            \
  template <typename T>                           \
  struct is_complex<Complex<T>> : std::true_type {}; \
  template <typename T>                           \
  struct scalar_value_type<Complex<T>> {          \
    using type = T;                               \
  };
CUDA_WHEEL_IS_COMPLEX(c10::complex)
#ifdef CUDA_WHEEL_COMPLEX_FUNCTIONS
CUDA_WHEEL_IS_COMPLEX(std::complex)
#endif
#undef CUDA_WHEEL_IS_COMPLEX

using c10::complex;
using c10::operator+;
using c10::operator-;
using c10::operator*;
using c10::operator/;
using c10::operator+=;
using c10::operator-=;
using c10::operator*=;
using c10::operator/=;
using c10::operator==;
using c10::operator!=;
using c10::operator<<;
using c10::operator>>;
using c10::polar;
namespace complex_literals {
using c10::complex_literals::operator""_if;
using c10::complex_literals::operator""_id;
}
}
}

#ifdef CUDA_WHEEL_COMPLEX_FUNCTIONS
#include <cuda_wheel_detail/pytorch/complex_functions.h>
#endif

#endif
