// The release of PyTorch: that of the build environment, or else the one whose interface these headers declare.
#ifndef CUDA_WHEEL_PYTORCH_VERSION_H
#define CUDA_WHEEL_PYTORCH_VERSION_H

#if __has_include(<ATen/core/PhiloxRNGEngine.h>)  // not __has_include_next, which NVRTC 13.5 lacks
#define CUDA_WHEEL_PYTORCH_OWN_VERSION
#if defined(TORCH_STABLE_ONLY) || defined(TORCH_TARGET_VERSION)
#include_next <torch/headeronly/version.h>
#else
#include_next <torch/csrc/api/include/torch/version.h>
#endif
#else
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 11
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.11.0"
#endif
#ifndef TORCH_ABI_VERSION
#define TORCH_ABI_VERSION \
  ((0ULL + TORCH_VERSION_MAJOR) << 56 | (0ULL + TORCH_VERSION_MINOR) << 48 | (0ULL + TORCH_VERSION_PATCH) << 40)
#endif

#endif
