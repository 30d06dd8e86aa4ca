// The larger and the smaller of two elements, as std::max and std::min have them; the second if it is NaN.
#ifndef CUDA_WHEEL_PYTORCH_LARGER_OR_NAN_H
#define CUDA_WHEEL_PYTORCH_LARGER_OR_NAN_H

#include <ATen/NumericUtils.h>

namespace cuda_wheel_detail {
namespace comparison {

// Hides the global operators of __half and __nv_bfloat16 here, as namespace std does: with them, two c10::Half have two
// ways to be compared, and the comparison is an error.
struct Nothing;
void operator<(const Nothing&, const Nothing&);

template <typename T>
inline __host__ __device__ T larger_or_nan(T a, T b) {
  return at::_isnan(b) ? b : ((a < b) ? b : a);
}
template <typename T>
inline __host__ __device__ T smaller_or_nan(T a, T b) {
  return at::_isnan(b) ? b : ((b < a) ? b : a);
}

}
}

#endif
