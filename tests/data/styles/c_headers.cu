// kernels: weigh
// The C headers and toolkit headers with which files written for nvcc start.
#include <assert.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>
#include <driver_types.h>
#include <builtin_types.h>
#include <device_functions.h>
#include <host_defines.h>
#include <math_constants.h>
#include <math_functions.h>
#include <vector_functions.h>
#include <vector_types.h>
#include <sm_30_intrinsics.h>
#include <texture_types.h>
#include <surface_types.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if !defined(CUDA_VERSION) || CUDA_VERSION < 12000
#error "cuda.h says which release this is"
#endif
#if !defined(CUDART_VERSION) || CUDART_VERSION < 12000
#error "and so does cuda_runtime_api.h"
#endif

struct Record {
    uint8_t tag;
    int64_t key;
    float weight;
};

__device__ cudaError_t status = cudaSuccess;

extern "C" __global__ void weigh(const Record* records, double* sums, CUdeviceptr scratch, size_t count)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    assert(records != NULL && sums != NULL);
    Record mine;
    memcpy(&mine, records + i, sizeof mine);
    bool heavy = mine.weight > FLT_EPSILON && mine.key < INT64_MAX && isfinite(mine.weight);
    double value = heavy ? sqrt((double)mine.weight) * M_PI : CUDART_INF;
    if (mine.tag == UINT8_MAX)
        printf("record %u: %g at offset %d\n", i, value, (int)offsetof(Record, weight));
    memset((void*)scratch, 0, 4);
    status = value > DBL_MAX ? cudaErrorInvalidValue : cudaSuccess;
    atomicAdd(sums, fmin(value, (double)INT_MAX) + abs(-3) + fabsf(-2.5f));
}
