// How grid_sample interpolates, and what it reads outside of the input.
#ifndef CUDA_WHEEL_PYTORCH_GRID_SAMPLER_UTILS_H
#define CUDA_WHEEL_PYTORCH_GRID_SAMPLER_UTILS_H

namespace at {
namespace native {
namespace detail {
enum class GridSamplerInterpolation { Bilinear, Nearest, Bicubic };
enum class GridSamplerPadding { Zeros, Border, Reflection };
}
using detail::GridSamplerInterpolation;
using detail::GridSamplerPadding;
}
}

#endif
