// <cuda_fp16.hpp> for NVRTC: the definitions for <cuda_fp16.h>, which NVRTC has built in.
#ifndef CUDA_WHEEL_CUDA_FP16_HPP
#define CUDA_WHEEL_CUDA_FP16_HPP

#include <cuda_fp16.h>

#endif
