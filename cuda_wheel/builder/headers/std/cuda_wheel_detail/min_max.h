// std::min and std::max of two values, which several headers of GCC's library declare.
#ifndef CUDA_WHEEL_DETAIL_MIN_MAX_H
#define CUDA_WHEEL_DETAIL_MIN_MAX_H

#include "functions.h"

namespace std {
template <class _T> CUDA_WHEEL_CONSTEXPR const _T& min(const _T& a, const _T& b) { return b < a ? b : a; }
template <class _T, class _F> CUDA_WHEEL_CONSTEXPR const _T& min(const _T& a, const _T& b, _F f) { return f(b, a) ? b : a; }
template <class _T> CUDA_WHEEL_CONSTEXPR const _T& max(const _T& a, const _T& b) { return a < b ? b : a; }
template <class _T, class _F> CUDA_WHEEL_CONSTEXPR const _T& max(const _T& a, const _T& b, _F f) { return f(a, b) ? b : a; }
}

#endif
