// std::char_traits, for host and device code.
#ifndef CUDA_WHEEL_DETAIL_CHAR_TRAITS_H
#define CUDA_WHEEL_DETAIL_CHAR_TRAITS_H

#include "../iosfwd"
#include "../wchar.h"
#include "../utility"

namespace std {
template <class State> class fpos;
using ::mbstate_t;
typedef fpos<mbstate_t> streampos;
typedef fpos<mbstate_t> wstreampos;

template <class Char> struct char_traits {
  typedef Char char_type;
  typedef conditional_t<is_same<Char, char>::value, int, unsigned> int_type;
  typedef streamoff off_type;
  typedef streampos pos_type;
  typedef mbstate_t state_type;
  static CUDA_WHEEL_CONSTEXPR void assign(Char& a, const Char& b) noexcept { a = b; }
  static CUDA_WHEEL_CONSTEXPR bool eq(const Char& a, const Char& b) noexcept { return a == b; }
  static CUDA_WHEEL_CONSTEXPR bool lt(const Char& a, const Char& b) noexcept { return static_cast<typename make_unsigned<Char>::type>(a) < static_cast<typename make_unsigned<Char>::type>(b); }
  static CUDA_WHEEL_CONSTEXPR int compare(const Char* a, const Char* b, size_t n) {
    for (; n != 0; --n, ++a, ++b) {
      if (lt(*a, *b)) return -1;
      if (lt(*b, *a)) return 1;
    }
    return 0;
  }
  static CUDA_WHEEL_CONSTEXPR size_t length(const Char* s) {
    size_t n = 0;
    while (s[n] != Char()) ++n;
    return n;
  }
  static CUDA_WHEEL_CONSTEXPR const Char* find(const Char* s, size_t n, const Char& c) {
    for (; n != 0; --n, ++s)
      if (*s == c) return s;
    return nullptr;
  }
  static CUDA_WHEEL_CONSTEXPR Char* copy(Char* to, const Char* from, size_t n) {
    for (size_t i = 0; i < n; ++i) to[i] = from[i];
    return to;
  }
  static CUDA_WHEEL_CONSTEXPR Char* move(Char* to, const Char* from, size_t n) {
    if (to < from) return copy(to, from, n);
    while (n-- != 0) to[n] = from[n];
    return to;
  }
  static CUDA_WHEEL_CONSTEXPR Char* assign(Char* s, size_t n, Char c) {
    for (size_t i = 0; i < n; ++i) s[i] = c;
    return s;
  }
  static CUDA_WHEEL_CONSTEXPR Char to_char_type(int_type c) noexcept { return static_cast<Char>(c); }
  static CUDA_WHEEL_CONSTEXPR int_type to_int_type(Char c) noexcept { return static_cast<typename make_unsigned<Char>::type>(c); }
  static CUDA_WHEEL_CONSTEXPR bool eq_int_type(int_type a, int_type b) noexcept { return a == b; }
  static CUDA_WHEEL_CONSTEXPR int_type eof() noexcept { return static_cast<int_type>(-1); }
  static CUDA_WHEEL_CONSTEXPR int_type not_eof(int_type c) noexcept { return c == eof() ? 0 : c; }
};
}

#endif
