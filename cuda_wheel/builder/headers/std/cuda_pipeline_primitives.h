// <cuda_pipeline_primitives.h> is the toolkit's; cuda_pipeline_helpers.h says what is changed.
#ifndef CUDA_WHEEL_CUDA_PIPELINE_PRIMITIVES_H
#define CUDA_WHEEL_CUDA_PIPELINE_PRIMITIVES_H

#include <cuda_pipeline_helpers.h>
#include_next <cuda_pipeline_primitives.h>

#endif
