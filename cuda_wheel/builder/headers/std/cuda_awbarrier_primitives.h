// <cuda_awbarrier_primitives.h> is the toolkit's; cuda_awbarrier_helpers.h says what is changed.
#ifndef CUDA_WHEEL_CUDA_AWBARRIER_PRIMITIVES_H
#define CUDA_WHEEL_CUDA_AWBARRIER_PRIMITIVES_H

#include <cuda_awbarrier_helpers.h>
#include_next <cuda_awbarrier_primitives.h>

#endif
