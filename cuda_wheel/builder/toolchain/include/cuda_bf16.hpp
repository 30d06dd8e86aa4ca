// <cuda_bf16.hpp> for NVRTC: the bodies of what <cuda_bf16.h> declares, which NVRTC has built in.
#ifndef CUDA_WHEEL_CUDA_BF16_HPP
#define CUDA_WHEEL_CUDA_BF16_HPP

#include <cuda_bf16.h>

#endif
