// std::complex for host code, with arithmetic for device code.
#ifndef CUDA_WHEEL_DETAIL_HOST_COMPLEX_H
#define CUDA_WHEEL_DETAIL_HOST_COMPLEX_H

#include "../cmath"
#include "../iosfwd"
#include "../utility"

namespace std {
template <class T> class complex {
  T real_, imag_;

 public:
  typedef T value_type;
  CUDA_WHEEL_CONSTEXPR complex(const T& r = T(), const T& i = T()) : real_(r), imag_(i) {}
  complex(const complex&) = default;
  template <class U, enable_if_t<!is_same<T, U>::value && (sizeof(U) <= sizeof(T)), int> = 0> CUDA_WHEEL_CONSTEXPR complex(const complex<U>& z) : real_(static_cast<T>(z.real())), imag_(static_cast<T>(z.imag())) {}
  template <class U, enable_if_t<!is_same<T, U>::value && (sizeof(U) > sizeof(T)), int> = 0> explicit CUDA_WHEEL_CONSTEXPR complex(const complex<U>& z) : real_(static_cast<T>(z.real())), imag_(static_cast<T>(z.imag())) {}
  complex& operator=(const complex&) = default;
  CUDA_WHEEL_CONSTEXPR complex& operator=(const T& t) { real_ = t; imag_ = T(); return *this; }
  template <class U> CUDA_WHEEL_CONSTEXPR complex& operator=(const complex<U>& z) { real_ = static_cast<T>(z.real()); imag_ = static_cast<T>(z.imag()); return *this; }
  CUDA_WHEEL_CONSTEXPR T real() const { return real_; }
  CUDA_WHEEL_CONSTEXPR T imag() const { return imag_; }
  CUDA_WHEEL_CONSTEXPR void real(T t) { real_ = t; }
  CUDA_WHEEL_CONSTEXPR void imag(T t) { imag_ = t; }
  CUDA_WHEEL_CONSTEXPR complex& operator+=(const T& t) { real_ += t; return *this; }
  CUDA_WHEEL_CONSTEXPR complex& operator-=(const T& t) { real_ -= t; return *this; }
  CUDA_WHEEL_CONSTEXPR complex& operator*=(const T& t) { real_ *= t; imag_ *= t; return *this; }
  CUDA_WHEEL_CONSTEXPR complex& operator/=(const T& t) { real_ /= t; imag_ /= t; return *this; }
  template <class U> CUDA_WHEEL_CONSTEXPR complex& operator+=(const complex<U>& z) { real_ += z.real(); imag_ += z.imag(); return *this; }
  template <class U> CUDA_WHEEL_CONSTEXPR complex& operator-=(const complex<U>& z) { real_ -= z.real(); imag_ -= z.imag(); return *this; }
  template <class U> CUDA_WHEEL_CONSTEXPR complex& operator*=(const complex<U>& z) {
    const T r = real_ * z.real() - imag_ * z.imag();
    imag_ = real_ * z.imag() + imag_ * z.real();
    real_ = r;
    return *this;
  }
  template <class U> CUDA_WHEEL_CONSTEXPR complex& operator/=(const complex<U>& z) {
    const T n = z.real() * z.real() + z.imag() * z.imag();
    const T r = (real_ * z.real() + imag_ * z.imag()) / n;
    imag_ = (imag_ * z.real() - real_ * z.imag()) / n;
    real_ = r;
    return *this;
  }
};
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator+(const complex<T>& a, const complex<T>& b) { complex<T> z = a; z += b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator+(const complex<T>& a, const T& b) { complex<T> z = a; z += b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator+(const T& a, const complex<T>& b) { complex<T> z = a; z += b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator-(const complex<T>& a, const complex<T>& b) { complex<T> z = a; z -= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator-(const complex<T>& a, const T& b) { complex<T> z = a; z -= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator-(const T& a, const complex<T>& b) { complex<T> z = a; z -= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator*(const complex<T>& a, const complex<T>& b) { complex<T> z = a; z *= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator*(const complex<T>& a, const T& b) { complex<T> z = a; z *= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator*(const T& a, const complex<T>& b) { complex<T> z = a; z *= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator/(const complex<T>& a, const complex<T>& b) { complex<T> z = a; z /= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator/(const complex<T>& a, const T& b) { complex<T> z = a; z /= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator/(const T& a, const complex<T>& b) { complex<T> z = a; z /= b; return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator+(const complex<T>& z) { return z; }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> operator-(const complex<T>& z) { return complex<T>(-z.real(), -z.imag()); }
template <class T> CUDA_WHEEL_CONSTEXPR bool operator==(const complex<T>& a, const complex<T>& b) { return a.real() == b.real() && a.imag() == b.imag(); }
template <class T> CUDA_WHEEL_CONSTEXPR bool operator==(const complex<T>& a, const T& b) { return a.real() == b && a.imag() == T(); }
template <class T> CUDA_WHEEL_CONSTEXPR bool operator==(const T& a, const complex<T>& b) { return b == a; }
template <class T> CUDA_WHEEL_CONSTEXPR bool operator!=(const complex<T>& a, const complex<T>& b) { return !(a == b); }
template <class T> CUDA_WHEEL_CONSTEXPR bool operator!=(const complex<T>& a, const T& b) { return !(a == b); }
template <class T> CUDA_WHEEL_CONSTEXPR bool operator!=(const T& a, const complex<T>& b) { return !(b == a); }
template <class T> CUDA_WHEEL_CONSTEXPR T real(const complex<T>& z) { return z.real(); }
template <class T> CUDA_WHEEL_CONSTEXPR T imag(const complex<T>& z) { return z.imag(); }
template <class T> CUDA_WHEEL_CONSTEXPR complex<T> conj(const complex<T>& z) { return complex<T>(z.real(), -z.imag()); }
template <class T> CUDA_WHEEL_CONSTEXPR T norm(const complex<T>& z) { return z.real() * z.real() + z.imag() * z.imag(); }
template <class T> __host__ __device__ T abs(const complex<T>& z) { return ::hypot(z.real(), z.imag()); }
template <class T> __host__ __device__ T arg(const complex<T>& z) { return ::atan2(z.imag(), z.real()); }
template <class T> __host__ __device__ complex<T> polar(const T& r, const T& angle = T()) { return complex<T>(r * ::cos(angle), r * ::sin(angle)); }
template <class T> __host__ __device__ complex<T> exp(const complex<T>& z) { return std::polar<T>(::exp(z.real()), z.imag()); }
template <class T> __host__ __device__ complex<T> log(const complex<T>& z) { return complex<T>(::log(std::abs(z)), std::arg(z)); }
template <class T> complex<T> proj(const complex<T>&);
template <class T> complex<T> pow(const complex<T>&, const complex<T>&);
template <class T> complex<T> pow(const complex<T>&, const T&);
template <class T> complex<T> pow(const complex<T>&, int);
template <class T> complex<T> pow(const T&, const complex<T>&);
template <class T> complex<T> log10(const complex<T>&);
template <class T> complex<T> sqrt(const complex<T>&);
template <class T> complex<T> sin(const complex<T>&);
template <class T> complex<T> cos(const complex<T>&);
template <class T> complex<T> tan(const complex<T>&);
template <class T> complex<T> sinh(const complex<T>&);
template <class T> complex<T> cosh(const complex<T>&);
template <class T> complex<T> tanh(const complex<T>&);
template <class T> complex<T> asin(const complex<T>&);
template <class T> complex<T> acos(const complex<T>&);
template <class T> complex<T> atan(const complex<T>&);
template <class T> complex<T> asinh(const complex<T>&);
template <class T> complex<T> acosh(const complex<T>&);
template <class T> complex<T> atanh(const complex<T>&);
template <class T, class Char, class Traits> basic_ostream<Char, Traits>& operator<<(basic_ostream<Char, Traits>&, const complex<T>&);
template <class T, class Char, class Traits> basic_istream<Char, Traits>& operator>>(basic_istream<Char, Traits>&, complex<T>&);
#define CUDA_WHEEL_OF_REAL(name, Result)                                                                                              \
  template <class T> CUDA_WHEEL_CONSTEXPR enable_if_t<is_arithmetic<T>::value, Result<conditional_t<is_integral<T>::value, double, T>>> name(T t)
template <class T> using cuda_wheel_same = T;
CUDA_WHEEL_OF_REAL(real, cuda_wheel_same) { return t; }
CUDA_WHEEL_OF_REAL(imag, cuda_wheel_same) { return decltype(std::real(t))(0); }
CUDA_WHEEL_OF_REAL(norm, cuda_wheel_same) { return std::real(t) * std::real(t); }
CUDA_WHEEL_OF_REAL(conj, complex) { return complex<conditional_t<is_integral<T>::value, double, T>>(t); }
#undef CUDA_WHEEL_OF_REAL
inline namespace literals {
inline namespace complex_literals {
CUDA_WHEEL_CONSTEXPR complex<double> operator""i(long double x) { return complex<double>(0, static_cast<double>(x)); }
CUDA_WHEEL_CONSTEXPR complex<double> operator""i(unsigned long long x) { return complex<double>(0, static_cast<double>(x)); }
CUDA_WHEEL_CONSTEXPR complex<float> operator""if(long double x) { return complex<float>(0, static_cast<float>(x)); }
}
}
}

#endif
