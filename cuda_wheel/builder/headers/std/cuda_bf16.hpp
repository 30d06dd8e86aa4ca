// <cuda_bf16.hpp> for NVRTC: the definitions for <cuda_bf16.h>, which NVRTC has built in.
#ifndef CUDA_WHEEL_CUDA_BF16_HPP
#define CUDA_WHEEL_CUDA_BF16_HPP

#include <cuda_bf16.h>

#endif
