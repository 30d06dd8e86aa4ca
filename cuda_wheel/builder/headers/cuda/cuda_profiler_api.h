// <cuda_profiler_api.h>: the runtime API's functions that start and stop a profiler.
#ifndef __CUDA_PROFILER_API_H__
#define __CUDA_PROFILER_API_H__

#include <driver_types.h>

extern "C" {
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
}

#endif
