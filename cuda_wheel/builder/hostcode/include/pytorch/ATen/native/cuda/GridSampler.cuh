// The arithmetic of PyTorch's grid_sample: coordinates, padding, bounded reads and additions.
#ifndef CUDA_WHEEL_PYTORCH_GRID_SAMPLER_CUH
#define CUDA_WHEEL_PYTORCH_GRID_SAMPLER_CUH

#include <ATen/native/GridSamplerUtils.h>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <climits>
#include <cmath>

namespace at {
namespace native {

// From [-1, 1] to a position in the input; with align_corners, the ends are the centres of the first and last elements.
template <typename scalar_t>
__forceinline__ __device__ scalar_t grid_sampler_unnormalize(scalar_t coord, int size, bool align_corners) {
  if (align_corners) return ((coord + 1.f) / 2) * (size - 1);
  return ((coord + 1.f) * size - 1) / 2;
}
template <typename scalar_t>
__forceinline__ __device__ scalar_t grid_sampler_unnormalize_set_grad(scalar_t coord, int size, bool align_corners,
                                                                      scalar_t* grad_in) {
  *grad_in = static_cast<scalar_t>(align_corners ? size - 1 : size) / 2;
  return grid_sampler_unnormalize(coord, size, align_corners);
}

template <typename scalar_t>
__forceinline__ __device__ scalar_t clip_coordinates(scalar_t in, int clip_limit) {
  return ::min(static_cast<scalar_t>(clip_limit - 1), ::max(in, static_cast<scalar_t>(0)));
}
// The gradient is 0 at the borders and beyond.
template <typename scalar_t>
__forceinline__ __device__ scalar_t clip_coordinates_set_grad(scalar_t in, int clip_limit, scalar_t* grad_in) {
  const scalar_t last = static_cast<scalar_t>(clip_limit - 1);
  if (in <= static_cast<scalar_t>(0)) {
    *grad_in = static_cast<scalar_t>(0);
    return static_cast<scalar_t>(0);
  }
  if (in >= last) {
    *grad_in = static_cast<scalar_t>(0);
    return last;
  }
  *grad_in = static_cast<scalar_t>(1);
  return in;
}

// Reflects between two borders, which are given doubled, so that halves of an element are integers.
template <typename scalar_t>
__forceinline__ __device__ scalar_t reflect_coordinates(scalar_t in, int twice_low, int twice_high) {
  if (twice_low == twice_high) return static_cast<scalar_t>(0);
  const scalar_t low = static_cast<scalar_t>(twice_low) / 2;
  const scalar_t span = static_cast<scalar_t>(twice_high - twice_low) / 2;
  in = ::fabs(in - low);
  const scalar_t extra = ::fmod(in, span);
  const int flips = static_cast<int>(::floor(in / span));
  return flips % 2 == 0 ? extra + low : span - extra + low;
}
template <typename scalar_t>
__forceinline__ __device__ scalar_t reflect_coordinates_set_grad(scalar_t in, int twice_low, int twice_high,
                                                                 scalar_t* grad_in) {
  if (twice_low == twice_high) {
    *grad_in = static_cast<scalar_t>(0);
    return static_cast<scalar_t>(0);
  }
  const scalar_t low = static_cast<scalar_t>(twice_low) / 2;
  const scalar_t span = static_cast<scalar_t>(twice_high - twice_low) / 2;
  in = in - low;
  int sign = 1;
  if (in < static_cast<scalar_t>(0)) {
    sign = -1;
    in = -in;
  }
  const scalar_t extra = ::fmod(in, span);
  const int flips = static_cast<int>(::floor(in / span));
  if (flips % 2 == 0) {
    *grad_in = static_cast<scalar_t>(sign);
    return extra + low;
  }
  *grad_in = static_cast<scalar_t>(-sign);
  return span - extra + low;
}

// A position that no int holds becomes -100, which is outside of every input.
template <typename scalar_t>
__forceinline__ __device__ scalar_t safe_downgrade_to_int_range(scalar_t x) {
  if (x > INT_MAX - 1 || x < INT_MIN || !::isfinite(static_cast<double>(x))) return static_cast<scalar_t>(-100.0);
  return x;
}

template <typename scalar_t>
__forceinline__ __device__ scalar_t compute_coordinates(scalar_t coord, int size, GridSamplerPadding padding_mode,
                                                        bool align_corners) {
  if (padding_mode == GridSamplerPadding::Border) {
    coord = clip_coordinates(coord, size);
  } else if (padding_mode == GridSamplerPadding::Reflection) {
    if (align_corners) {
      coord = reflect_coordinates(coord, 0, 2 * (size - 1));
    } else {
      coord = reflect_coordinates(coord, -1, 2 * size - 1);
    }
    coord = clip_coordinates(coord, size);
  }
  return safe_downgrade_to_int_range(coord);
}
template <typename scalar_t>
__forceinline__ __device__ scalar_t grid_sampler_compute_source_index(scalar_t coord, int size,
                                                                      GridSamplerPadding padding_mode,
                                                                      bool align_corners) {
  coord = grid_sampler_unnormalize(coord, size, align_corners);
  return compute_coordinates(coord, size, padding_mode, align_corners);
}
template <typename scalar_t>
__forceinline__ __device__ scalar_t grid_sampler_compute_source_index_set_grad(scalar_t coord, int size,
                                                                               GridSamplerPadding padding_mode,
                                                                               bool align_corners, scalar_t* grad_in) {
  scalar_t of_clip;
  scalar_t of_reflection;
  coord = grid_sampler_unnormalize_set_grad(coord, size, align_corners, grad_in);
  if (padding_mode == GridSamplerPadding::Border) {
    coord = clip_coordinates_set_grad(coord, size, &of_clip);
    *grad_in = (*grad_in) * of_clip;
  } else if (padding_mode == GridSamplerPadding::Reflection) {
    if (align_corners) {
      coord = reflect_coordinates_set_grad(coord, 0, 2 * (size - 1), &of_reflection);
    } else {
      coord = reflect_coordinates_set_grad(coord, -1, 2 * size - 1, &of_reflection);
    }
    coord = clip_coordinates_set_grad(coord, size, &of_clip);
    *grad_in = (*grad_in) * of_reflection * of_clip;
  }
  return safe_downgrade_to_int_range(coord);
}

__forceinline__ __device__ bool within_bounds_2d(int h, int w, int H, int W) {
  return h >= 0 && h < H && w >= 0 && w < W;
}
__forceinline__ __device__ bool within_bounds_3d(int d, int h, int w, int D, int H, int W) {
  return d >= 0 && d < D && h >= 0 && h < H && w >= 0 && w < W;
}

template <typename scalar_t>
__forceinline__ __device__ scalar_t get_value_bounded(const scalar_t* data, scalar_t x, scalar_t y, int W, int H,
                                                      int sW, int sH, GridSamplerPadding padding_mode,
                                                      bool align_corners) {
  const int column = static_cast<int>(compute_coordinates(x, W, padding_mode, align_corners));
  const int row = static_cast<int>(compute_coordinates(y, H, padding_mode, align_corners));
  if (within_bounds_2d(row, column, H, W)) return data[row * sH + column * sW];
  return static_cast<scalar_t>(0);
}

template <typename scalar_t, typename index_t>
__forceinline__ __device__ void safe_add_2d(scalar_t* data, int h, int w, int sH, int sW, int H, int W, scalar_t delta,
                                            const index_t NC_offset, const index_t memory_span) {
  if (within_bounds_2d(h, w, H, W)) fastAtomicAdd(data, NC_offset + h * sH + w * sW, memory_span, delta, true);
}
template <typename scalar_t, typename index_t>
__forceinline__ __device__ void safe_add_3d(scalar_t* data, int d, int h, int w, int sD, int sH, int sW, int D, int H,
                                            int W, scalar_t delta, const index_t NC_offset,
                                            const index_t memory_span) {
  if (within_bounds_3d(d, h, w, D, H, W))
    fastAtomicAdd(data, NC_offset + d * sD + h * sH + w * sW, memory_span, delta, true);
}
template <typename scalar_t, typename index_t>
__forceinline__ __device__ void add_value_bounded(scalar_t* data, scalar_t x, scalar_t y, int W, int H, int sW, int sH,
                                                  scalar_t delta, GridSamplerPadding padding_mode, bool align_corners,
                                                  const index_t NC_offset, const index_t memory_span) {
  const int column = static_cast<int>(compute_coordinates(x, W, padding_mode, align_corners));
  const int row = static_cast<int>(compute_coordinates(y, H, padding_mode, align_corners));
  safe_add_2d(data, row, column, sH, sW, H, W, delta, NC_offset, memory_span);
}

// The derivatives of the coefficients of Keys' cubic convolution, for the four neighbours.
template <typename scalar_t>
__forceinline__ __device__ void get_cubic_coefficients_grad(scalar_t coeffs[4], scalar_t t) {
  const scalar_t A = -0.75;
  scalar_t x = -1 - t;
  coeffs[0] = (-3 * A * x - 10 * A) * x - 8 * A;
  x = -t;
  coeffs[1] = (-3 * (A + 2) * x - 2 * (A + 3)) * x;
  x = 1 - t;
  coeffs[2] = (3 * (A + 2) * x - 2 * (A + 3)) * x;
  x = 2 - t;
  coeffs[3] = (3 * A * x - 10 * A) * x + 8 * A;
}

}
}

#endif
