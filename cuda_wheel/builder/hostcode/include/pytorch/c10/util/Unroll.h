// c10::ForcedUnroll: calls a function for 0 to n - 1, each as a constant.
#ifndef CUDA_WHEEL_PYTORCH_UNROLL_H
#define CUDA_WHEEL_PYTORCH_UNROLL_H

#include <c10/macros/Macros.h>
#include <type_traits>

namespace c10 {

template <int n>
struct ForcedUnroll {
  template <typename Func, typename... Args>
  C10_ALWAYS_INLINE void operator()(const Func& f, Args... args) const {
    if constexpr (n > 1) ForcedUnroll<n - 1>{}(f, args...);
    f(std::integral_constant<int, n - 1>{}, args...);
  }
};

}

#endif
