// <cuda_fp16.hpp> for NVRTC: the bodies of what <cuda_fp16.h> declares, which NVRTC has built in.
#ifndef CUDA_WHEEL_CUDA_FP16_HPP
#define CUDA_WHEEL_CUDA_FP16_HPP

#include <cuda_fp16.h>

#endif
