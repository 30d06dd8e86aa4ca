// The algorithms of C++20 over whole ranges, for host and device code.
#ifndef CUDA_WHEEL_DETAIL_RANGE_ALGORITHMS_H
#define CUDA_WHEEL_DETAIL_RANGE_ALGORITHMS_H

#include "../algorithm"
#include "invoke.h"

#define CUDA_WHEEL_RANGE_ALGORITHM(name)                                                                                                                                            \
  template <class _R, class... As> CUDA_WHEEL_CONSTEXPR auto name(_R&& r, As&&... as) -> decltype(std::begin(r), std::name(std::begin(r), std::end(r), static_cast<As&&>(as)...)) { \
    return std::name(std::begin(r), std::end(r), static_cast<As&&>(as)...);                                                                                                         \
  }                                                                                                                                                                                 \
  template <class _I, class... As> CUDA_WHEEL_CONSTEXPR auto name(_I first, _I last, As&&... as) -> decltype(*first, std::name(first, last, static_cast<As&&>(as)...)) {            \
    return std::name(first, last, static_cast<As&&>(as)...);                                                                                                                        \
  }

namespace std {
namespace ranges {
CUDA_WHEEL_RANGE_ALGORITHM(all_of)
CUDA_WHEEL_RANGE_ALGORITHM(any_of)
CUDA_WHEEL_RANGE_ALGORITHM(none_of)
CUDA_WHEEL_RANGE_ALGORITHM(find)
CUDA_WHEEL_RANGE_ALGORITHM(find_if)
CUDA_WHEEL_RANGE_ALGORITHM(count)
CUDA_WHEEL_RANGE_ALGORITHM(count_if)
CUDA_WHEEL_RANGE_ALGORITHM(sort)
CUDA_WHEEL_RANGE_ALGORITHM(stable_sort)
CUDA_WHEEL_RANGE_ALGORITHM(is_sorted)
CUDA_WHEEL_RANGE_ALGORITHM(fill)
CUDA_WHEEL_RANGE_ALGORITHM(reverse)
CUDA_WHEEL_RANGE_ALGORITHM(max_element)
CUDA_WHEEL_RANGE_ALGORITHM(min_element)
CUDA_WHEEL_RANGE_ALGORITHM(binary_search)
CUDA_WHEEL_RANGE_ALGORITHM(lower_bound)
CUDA_WHEEL_RANGE_ALGORITHM(upper_bound)
}
}
#undef CUDA_WHEEL_RANGE_ALGORITHM

#endif
