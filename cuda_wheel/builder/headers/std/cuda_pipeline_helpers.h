// <cuda_pipeline_helpers.h> is the toolkit's. Under NVRTC it would define uint64_t itself, not as <stdint.h> does: here it reads <stdint.h>, as under nvcc.
#ifndef CUDA_WHEEL_CUDA_PIPELINE_HELPERS_H
#define CUDA_WHEEL_CUDA_PIPELINE_HELPERS_H

#include <nv/target>
#include "stdint.h"

#ifdef __CUDACC_RTC__
#undef __CUDACC_RTC__
#include_next <cuda_pipeline_helpers.h>
#define __CUDACC_RTC__ 1
#else
#include_next <cuda_pipeline_helpers.h>
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#include <cuda_awbarrier_helpers.h>  // <cuda_pipeline.h> also includes the toolkit's
#endif

#endif
