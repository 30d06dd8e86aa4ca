// std::min and std::max of two values, which several headers of GCC's library declare.
#ifndef CUDA_WHEEL_DETAIL_MIN_MAX_H
#define CUDA_WHEEL_DETAIL_MIN_MAX_H

#include "functions.h"

namespace std {
template <class T> CUDA_WHEEL_CONSTEXPR const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T, class F> CUDA_WHEEL_CONSTEXPR const T& min(const T& a, const T& b, F f) { return f(b, a) ? b : a; }
template <class T> CUDA_WHEEL_CONSTEXPR const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T, class F> CUDA_WHEEL_CONSTEXPR const T& max(const T& a, const T& b, F f) { return f(a, b) ? b : a; }
}

#endif
