// std::hash: open to specialisation; the values for host code are declared only.
#ifndef CUDA_WHEEL_DETAIL_HASH_H
#define CUDA_WHEEL_DETAIL_HASH_H

#include "../utility"

namespace cuda_wheel_detail {
struct no_hash {
  no_hash() = delete;
  no_hash(const no_hash&) = delete;
};
template <class _T> struct hash_of_enum {
  typedef std::size_t result_type;
  typedef _T argument_type;
  CUDA_WHEEL_CONSTEXPR std::size_t operator()(_T t) const noexcept { return static_cast<std::size_t>(t); }
};
}

namespace std {
// Integers hash to themselves, as in GCC's library.
template <class _T> struct hash : conditional_t<is_enum<_T>::value, cuda_wheel_detail::hash_of_enum<_T>, cuda_wheel_detail::no_hash> {};
template <class _T> struct hash<_T*> {
  typedef size_t result_type;
  typedef _T* argument_type;
  size_t operator()(_T* p) const noexcept { return reinterpret_cast<size_t>(p); }
};
#define CUDA_WHEEL_HASH(type) \
  template <> struct hash<type> : cuda_wheel_detail::hash_of_enum<type> {};
CUDA_WHEEL_HASH(bool)
CUDA_WHEEL_HASH(char)
CUDA_WHEEL_HASH(signed char)
CUDA_WHEEL_HASH(unsigned char)
CUDA_WHEEL_HASH(wchar_t)
CUDA_WHEEL_HASH(char16_t)
CUDA_WHEEL_HASH(char32_t)
CUDA_WHEEL_HASH(short)
CUDA_WHEEL_HASH(unsigned short)
CUDA_WHEEL_HASH(int)
CUDA_WHEEL_HASH(unsigned int)
CUDA_WHEEL_HASH(long)
CUDA_WHEEL_HASH(unsigned long)
CUDA_WHEEL_HASH(long long)
CUDA_WHEEL_HASH(unsigned long long)
#undef CUDA_WHEEL_HASH
template <> struct hash<float> { size_t operator()(float) const noexcept; };
template <> struct hash<double> { size_t operator()(double) const noexcept; };
template <> struct hash<long double> { size_t operator()(long double) const noexcept; };
template <> struct hash<decltype(nullptr)> { size_t operator()(decltype(nullptr)) const noexcept; };
}

#endif
