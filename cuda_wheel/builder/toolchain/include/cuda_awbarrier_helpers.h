// <cuda_awbarrier_helpers.h> is the toolkit's. Under NVRTC it defines uint64_t, but not as <stdint.h> does: here under other names.
#ifndef CUDA_WHEEL_CUDA_AWBARRIER_HELPERS_H
#define CUDA_WHEEL_CUDA_AWBARRIER_HELPERS_H

#include "stdint.h"
#define uint64_t cuda_wheel_awbarrier_uint64_t
#define uintptr_t cuda_wheel_awbarrier_uintptr_t
#include_next <cuda_awbarrier_helpers.h>
#undef uint64_t
#undef uintptr_t

#endif
