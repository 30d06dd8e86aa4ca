// <cuda_awbarrier_helpers.h> is the toolkit's. Under NVRTC it would define uint64_t itself, not as <stdint.h> does: here it reads <stdint.h>, as under nvcc.
#ifndef CUDA_WHEEL_CUDA_AWBARRIER_HELPERS_H
#define CUDA_WHEEL_CUDA_AWBARRIER_HELPERS_H

#include <nv/target>
#include "stdint.h"

#ifdef __CUDACC_RTC__
#undef __CUDACC_RTC__
#include_next <cuda_awbarrier_helpers.h>
#define __CUDACC_RTC__ 1
#else
#include_next <cuda_awbarrier_helpers.h>
#endif


#endif
