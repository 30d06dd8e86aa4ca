// The algorithms that GCC's <string>, <vector> and <memory> declare too; sources call them without <algorithm>.
#ifndef CUDA_WHEEL_DETAIL_COMMON_ALGORITHMS_H
#define CUDA_WHEEL_DETAIL_COMMON_ALGORITHMS_H

#include "../iterator"
#include "function_objects.h"

namespace std {
template <class _I, class _J, class _F> CUDA_WHEEL_CONSTEXPR pair<_I, _J> mismatch(_I first, _I last, _J other, _F f) {
  while (first != last && f(*first, *other)) ++first, ++other;
  return pair<_I, _J>(first, other);
}
template <class _I, class _J> CUDA_WHEEL_CONSTEXPR pair<_I, _J> mismatch(_I first, _I last, _J other) { return std::mismatch(first, last, other, equal_to<>()); }
template <class _I, class _J, class _F> CUDA_WHEEL_CONSTEXPR enable_if_t<!is_same<_F, _J>::value, pair<_I, _J>> mismatch(_I first, _I last, _J other, _J end, _F f) {
  while (first != last && other != end && f(*first, *other)) ++first, ++other;
  return pair<_I, _J>(first, other);
}
template <class _I, class _J> CUDA_WHEEL_CONSTEXPR bool equal(_I first, _I last, _J other) { return std::mismatch(first, last, other).first == last; }
template <class _I, class _J, class _F> CUDA_WHEEL_CONSTEXPR enable_if_t<!is_same<_F, _J>::value, bool> equal(_I first, _I last, _J other, _F f) { return std::mismatch(first, last, other, f).first == last; }
template <class _I, class _J> CUDA_WHEEL_CONSTEXPR bool equal(_I first, _I last, _J other, _J end) {
  for (; first != last && other != end; ++first, ++other)
    if (!(*first == *other)) return false;
  return first == last && other == end;
}
template <class _I, class _J, class _F> CUDA_WHEEL_CONSTEXPR bool equal(_I first, _I last, _J other, _J end, _F f) {
  for (; first != last && other != end; ++first, ++other)
    if (!f(*first, *other)) return false;
  return first == last && other == end;
}
template <class _I, class _J, class _F> CUDA_WHEEL_CONSTEXPR bool lexicographical_compare(_I first, _I last, _J other, _J end, _F f) {
  for (; first != last && other != end; ++first, ++other) {
    if (f(*first, *other)) return true;
    if (f(*other, *first)) return false;
  }
  return first == last && other != end;
}
template <class _I, class _J> CUDA_WHEEL_CONSTEXPR bool lexicographical_compare(_I first, _I last, _J other, _J end) { return std::lexicographical_compare(first, last, other, end, less<>()); }
template <class _I, class _O> CUDA_WHEEL_CONSTEXPR _O copy(_I first, _I last, _O out) {
  for (; first != last; ++first, ++out) *out = *first;
  return out;
}
template <class _I, class _N, class _O> CUDA_WHEEL_CONSTEXPR _O copy_n(_I first, _N n, _O out) {
  for (; n > 0; --n, ++first, ++out) *out = *first;
  return out;
}
template <class _I, class _O> CUDA_WHEEL_CONSTEXPR _O copy_backward(_I first, _I last, _O out) {
  while (first != last) *--out = *--last;
  return out;
}
template <class _I, class _O> CUDA_WHEEL_CONSTEXPR _O move(_I first, _I last, _O out) {
  for (; first != last; ++first, ++out) *out = std::move(*first);
  return out;
}
template <class _I, class _O> CUDA_WHEEL_CONSTEXPR _O move_backward(_I first, _I last, _O out) {
  while (first != last) *--out = std::move(*--last);
  return out;
}
template <class _I, class _T> CUDA_WHEEL_CONSTEXPR void fill(_I first, _I last, const _T& value) {
  for (; first != last; ++first) *first = value;
}
template <class _I, class _N, class _T> CUDA_WHEEL_CONSTEXPR _I fill_n(_I first, _N n, const _T& value) {
  for (; n > 0; --n, ++first) *first = value;
  return first;
}
template <class _I, class _J> CUDA_WHEEL_CONSTEXPR void iter_swap(_I a, _J b) {
  using std::swap;
  swap(*a, *b);
}
template <class _I, class _J> CUDA_WHEEL_CONSTEXPR _J swap_ranges(_I first, _I last, _J other) {
  for (; first != last; ++first, ++other) std::iter_swap(first, other);
  return other;
}
template <class _I, class _T, class _F> CUDA_WHEEL_CONSTEXPR _I lower_bound(_I first, _I last, const _T& value, _F f) {
  for (auto n = std::distance(first, last); n > 0;) {
    _I middle = std::next(first, n / 2);
    if (f(*middle, value)) {
      first = ++middle;
      n -= n / 2 + 1;
    } else {
      n /= 2;
    }
  }
  return first;
}
template <class _I, class _T> CUDA_WHEEL_CONSTEXPR _I lower_bound(_I first, _I last, const _T& value) { return std::lower_bound(first, last, value, less<>()); }
}

#endif
