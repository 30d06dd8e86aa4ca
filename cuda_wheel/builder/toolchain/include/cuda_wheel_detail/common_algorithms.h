// The algorithms that GCC's <string>, <vector> and <memory> declare too; sources call them without <algorithm>.
#ifndef CUDA_WHEEL_DETAIL_COMMON_ALGORITHMS_H
#define CUDA_WHEEL_DETAIL_COMMON_ALGORITHMS_H

#include "../iterator"
#include "function_objects.h"

namespace std {
template <class I, class J, class F> CUDA_WHEEL_CONSTEXPR pair<I, J> mismatch(I first, I last, J other, F f) {
  while (first != last && f(*first, *other)) ++first, ++other;
  return pair<I, J>(first, other);
}
template <class I, class J> CUDA_WHEEL_CONSTEXPR pair<I, J> mismatch(I first, I last, J other) { return std::mismatch(first, last, other, equal_to<>()); }
template <class I, class J, class F> CUDA_WHEEL_CONSTEXPR enable_if_t<!is_same<F, J>::value, pair<I, J>> mismatch(I first, I last, J other, J end, F f) {
  while (first != last && other != end && f(*first, *other)) ++first, ++other;
  return pair<I, J>(first, other);
}
template <class I, class J> CUDA_WHEEL_CONSTEXPR bool equal(I first, I last, J other) { return std::mismatch(first, last, other).first == last; }
template <class I, class J, class F> CUDA_WHEEL_CONSTEXPR enable_if_t<!is_same<F, J>::value, bool> equal(I first, I last, J other, F f) { return std::mismatch(first, last, other, f).first == last; }
template <class I, class J> CUDA_WHEEL_CONSTEXPR bool equal(I first, I last, J other, J end) {
  for (; first != last && other != end; ++first, ++other)
    if (!(*first == *other)) return false;
  return first == last && other == end;
}
template <class I, class J, class F> CUDA_WHEEL_CONSTEXPR bool equal(I first, I last, J other, J end, F f) {
  for (; first != last && other != end; ++first, ++other)
    if (!f(*first, *other)) return false;
  return first == last && other == end;
}
template <class I, class J, class F> CUDA_WHEEL_CONSTEXPR bool lexicographical_compare(I first, I last, J other, J end, F f) {
  for (; first != last && other != end; ++first, ++other) {
    if (f(*first, *other)) return true;
    if (f(*other, *first)) return false;
  }
  return first == last && other != end;
}
template <class I, class J> CUDA_WHEEL_CONSTEXPR bool lexicographical_compare(I first, I last, J other, J end) { return std::lexicographical_compare(first, last, other, end, less<>()); }
template <class I, class O> CUDA_WHEEL_CONSTEXPR O copy(I first, I last, O out) {
  for (; first != last; ++first, ++out) *out = *first;
  return out;
}
template <class I, class N, class O> CUDA_WHEEL_CONSTEXPR O copy_n(I first, N n, O out) {
  for (; n > 0; --n, ++first, ++out) *out = *first;
  return out;
}
template <class I, class O> CUDA_WHEEL_CONSTEXPR O copy_backward(I first, I last, O out) {
  while (first != last) *--out = *--last;
  return out;
}
template <class I, class O> CUDA_WHEEL_CONSTEXPR O move(I first, I last, O out) {
  for (; first != last; ++first, ++out) *out = std::move(*first);
  return out;
}
template <class I, class O> CUDA_WHEEL_CONSTEXPR O move_backward(I first, I last, O out) {
  while (first != last) *--out = std::move(*--last);
  return out;
}
template <class I, class T> CUDA_WHEEL_CONSTEXPR void fill(I first, I last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class N, class T> CUDA_WHEEL_CONSTEXPR I fill_n(I first, N n, const T& value) {
  for (; n > 0; --n, ++first) *first = value;
  return first;
}
template <class I, class J> CUDA_WHEEL_CONSTEXPR void iter_swap(I a, J b) {
  using std::swap;
  swap(*a, *b);
}
template <class I, class J> CUDA_WHEEL_CONSTEXPR J swap_ranges(I first, I last, J other) {
  for (; first != last; ++first, ++other) std::iter_swap(first, other);
  return other;
}
template <class I, class T, class F> CUDA_WHEEL_CONSTEXPR I lower_bound(I first, I last, const T& value, F f) {
  for (auto n = std::distance(first, last); n > 0;) {
    I middle = std::next(first, n / 2);
    if (f(*middle, value)) {
      first = ++middle;
      n -= n / 2 + 1;
    } else {
      n /= 2;
    }
  }
  return first;
}
template <class I, class T> CUDA_WHEEL_CONSTEXPR I lower_bound(I first, I last, const T& value) { return std::lower_bound(first, last, value, less<>()); }
}

#endif
