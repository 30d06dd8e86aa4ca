// <cuda_awbarrier.h> is the toolkit's; cuda_awbarrier_helpers.h says what is changed.
#ifndef CUDA_WHEEL_CUDA_AWBARRIER_H
#define CUDA_WHEEL_CUDA_AWBARRIER_H

#include <cuda_awbarrier_helpers.h>
#include_next <cuda_awbarrier.h>

#endif
