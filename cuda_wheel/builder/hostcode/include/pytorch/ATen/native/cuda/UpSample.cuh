// The arithmetic of PyTorch's interpolation: source indices, cubic coefficients, bounded reads and additions.
#ifndef CUDA_WHEEL_PYTORCH_UP_SAMPLE_CUH
#define CUDA_WHEEL_PYTORCH_UP_SAMPLE_CUH

#include <ATen/core/TensorAccessor.h>
#include <ATen/cuda/Atomic.cuh>
#include <cstdint>
#include <math.h>
#include <optional>

namespace at {
namespace native {

template <typename scalar_t>
__device__ inline scalar_t min(scalar_t a, scalar_t b) {
  return a < b ? a : b;
}
template <typename scalar_t>
__device__ inline scalar_t max(scalar_t a, scalar_t b) {
  return a > b ? a : b;
}

template <typename accscalar_t>
accscalar_t compute_scales_value(const std::optional<double> scale, int64_t src_size, int64_t dst_size);
template <typename accscalar_t>
accscalar_t compute_scales_value_backwards(const std::optional<double> scale, int64_t src_size, int64_t dst_size);
template <typename accscalar_t>
accscalar_t area_pixel_compute_scale(int input_size, int output_size, bool align_corners,
                                     const std::optional<double> scale);

template <typename accscalar_t>
__device__ __forceinline__ accscalar_t area_pixel_compute_source_index(accscalar_t scale, int dst_index,
                                                                       bool align_corners, bool cubic) {
  if (align_corners) return scale * dst_index;
  const accscalar_t index =
      scale * (dst_index + static_cast<accscalar_t>(0.5)) - static_cast<accscalar_t>(0.5);
  return (!cubic && index < static_cast<accscalar_t>(0)) ? static_cast<accscalar_t>(0) : index;
}
__device__ __forceinline__ int nearest_neighbor_compute_source_index(const float scale, int dst_index,
                                                                     int input_size) {
  return min(static_cast<int>(floorf(dst_index * scale)), input_size - 1);
}
__device__ __forceinline__ int nearest_neighbor_exact_compute_source_index(const float scale, int dst_index,
                                                                           int input_size) {
  return min(static_cast<int>(floorf((dst_index + 0.5f) * scale)), input_size - 1);
}
__device__ __forceinline__ int nearest_neighbor_bw_compute_source_index(const float scale, int dst_index,
                                                                        int output_size) {
  return min(static_cast<int>(ceilf(dst_index * scale)), output_size);
}
__device__ __forceinline__ int nearest_neighbor_exact_bw_compute_source_index(const float scale, int dst_index,
                                                                              int output_size) {
  return min(static_cast<int>(ceilf(dst_index * scale - 0.5f)), output_size);
}

template <typename scalar_t>
__device__ __forceinline__ scalar_t upsample_get_value_bounded(const PackedTensorAccessor64<const scalar_t, 4>& data,
                                                               int batch, int channel, int height, int width, int y,
                                                               int x) {
  return data[batch][channel][max(min(y, height - 1), 0)][max(min(x, width - 1), 0)];
}
template <typename scalar_t, typename accscalar_t>
__device__ __forceinline__ void upsample_increment_value_bounded(PackedTensorAccessor64<scalar_t, 4>& data, int batch,
                                                                 int channel, int height, int width, int y, int x,
                                                                 accscalar_t value) {
  gpuAtomicAddNoReturn(&data[batch][channel][max(min(y, height - 1), 0)][max(min(x, width - 1), 0)],
                       static_cast<scalar_t>(value));
}

// Keys' cubic convolution with the parameter A, for distances below 1 and from 1 to 2.
template <typename accscalar_t>
__device__ __forceinline__ accscalar_t cubic_convolution1(accscalar_t x, accscalar_t A) {
  return ((A + 2) * x - (A + 3)) * x * x + 1;
}
template <typename accscalar_t>
__device__ __forceinline__ accscalar_t cubic_convolution2(accscalar_t x, accscalar_t A) {
  return ((A * x - 5 * A) * x + 8 * A) * x - 4 * A;
}
template <typename accscalar_t>
__device__ __forceinline__ void get_cubic_upsampling_coefficients(accscalar_t coeffs[4], accscalar_t t) {
  const accscalar_t A = -0.75;
  const accscalar_t near = t;
  coeffs[0] = cubic_convolution2<accscalar_t>(near + 1.0, A);
  coeffs[1] = cubic_convolution1<accscalar_t>(near, A);
  const accscalar_t far = 1.0 - t;
  coeffs[2] = cubic_convolution1<accscalar_t>(far, A);
  coeffs[3] = cubic_convolution2<accscalar_t>(far + 1.0, A);
}
template <typename scalar_t, typename accscalar_t>
__device__ __forceinline__ accscalar_t cubic_interp1d(scalar_t x0, scalar_t x1, scalar_t x2, scalar_t x3,
                                                      accscalar_t t) {
  accscalar_t coeffs[4];
  get_cubic_upsampling_coefficients<accscalar_t>(coeffs, t);
  return x0 * coeffs[0] + x1 * coeffs[1] + x2 * coeffs[2] + x3 * coeffs[3];
}

}
}

#endif
