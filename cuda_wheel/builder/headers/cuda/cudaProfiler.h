// <cudaProfiler.h>: the driver API's functions that start and stop a profiler.
#ifndef __CUDA_PROFILER_H__
#define __CUDA_PROFILER_H__

#include <cuda.h>

extern "C" {
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
}

#endif
