// The operations of PyTorch's reductions that extensions use: maximum and minimum that keep NaN, and Welford's method.
#ifndef CUDA_WHEEL_PYTORCH_SHARED_REDUCE_OPS_H
#define CUDA_WHEEL_PYTORCH_SHARED_REDUCE_OPS_H

#include <ATen/NumericUtils.h>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/detail/FunctionTraits.h>
#include <ATen/native/cuda/DeviceSqrt.cuh>
#include <c10/cuda/CUDAMathCompat.h>
#include <c10/macros/Macros.h>
#include <cstdint>
#include <cuda_wheel_detail/pytorch/larger_or_nan.h>
#include <type_traits>

template <typename scalar_t>
inline C10_DEVICE scalar_t max_propagate_nan(scalar_t a, scalar_t b) {
  return cuda_wheel_detail::comparison::larger_or_nan(a, b);
}
template <typename scalar_t>
inline C10_DEVICE scalar_t min_propagate_nan(scalar_t a, scalar_t b) {
  return cuda_wheel_detail::comparison::smaller_or_nan(a, b);
}

#define MAX(X, Y) max_propagate_nan(X, Y)
#define MIN(X, Y) min_propagate_nan(X, Y)
#define compat_pow c10::cuda::compat::pow

namespace at {
namespace native {

// Mean, sum of squared deviations, and count, as an integer and as a floating-point number.
template <typename scalar_t, typename index_t>
struct WelfordData {
  scalar_t mean;
  scalar_t m2;
  index_t n;
  scalar_t nf;

  C10_HOST_DEVICE WelfordData() : mean(0), m2(0), n(0), nf(0) {}
  C10_HOST_DEVICE WelfordData(scalar_t mean, scalar_t m2, index_t n, scalar_t nf) : mean(mean), m2(m2), n(n), nf(nf) {}
};

template <typename scalar_t, typename acc_scalar_t, typename index_t, typename res_t>
struct WelfordOps {
  acc_scalar_t correction;
  bool take_sqrt;

  using acc_t = WelfordData<acc_scalar_t, index_t>;

  inline C10_DEVICE acc_t reduce(acc_t acc, scalar_t data, index_t) const {
    const index_t count = acc.n + 1;
    const acc_scalar_t count_f = static_cast<acc_scalar_t>(count);
    const acc_scalar_t delta = data - acc.mean;
    const acc_scalar_t mean = acc.mean + delta / count_f;
    const acc_scalar_t new_delta = data - mean;
    return {mean, acc.m2 + delta * new_delta, count, count_f};
  }
  // The integer count may overflow here, so only the other one stays valid.
  inline C10_DEVICE acc_t combine(acc_t a, acc_t b) const {
    if (a.nf == 0) return b;
    if (b.nf == 0) return a;
    const acc_scalar_t delta = b.mean - a.mean;
    const acc_scalar_t count = a.nf + b.nf;
    const acc_scalar_t part = b.nf / count;
    return {a.mean + delta * part, a.m2 + b.m2 + delta * delta * a.nf * part, -1, count};
  }
  inline C10_DEVICE res_t project(acc_t acc) const {
    const auto mean = static_cast<scalar_t>(acc.mean);
    const auto divisor = acc.nf > correction ? acc.nf - correction : 0;
    const auto variance = acc.m2 / divisor;
    return res_t(take_sqrt ? device_sqrt(variance) : variance, mean);
  }
  static C10_DEVICE acc_t translate_idx(acc_t acc, int64_t) { return acc; }
  inline __device__ acc_t warp_shfl_down(acc_t acc, int offset) const {
    return {WARP_SHFL_DOWN(acc.mean, offset), WARP_SHFL_DOWN(acc.m2, offset), WARP_SHFL_DOWN(acc.n, offset),
            WARP_SHFL_DOWN(acc.nf, offset)};
  }
  C10_HOST_DEVICE WelfordOps(acc_scalar_t correction, bool take_sqrt) : correction(correction), take_sqrt(take_sqrt) {}
};

}
}

#endif
