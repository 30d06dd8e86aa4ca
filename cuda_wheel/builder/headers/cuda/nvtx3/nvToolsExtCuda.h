// <nvtx3/nvToolsExtCuda.h>: NVTX's functions that name the driver API's objects.
#ifndef NVTOOLSEXT_CUDA_V3
#define NVTOOLSEXT_CUDA_V3

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

extern "C" {
void nvtxNameCuDeviceA(CUdevice, const char* name);
void nvtxNameCuDeviceW(CUdevice, const wchar_t* name);
void nvtxNameCuContextA(CUcontext, const char* name);
void nvtxNameCuContextW(CUcontext, const wchar_t* name);
void nvtxNameCuStreamA(CUstream, const char* name);
void nvtxNameCuStreamW(CUstream, const wchar_t* name);
void nvtxNameCuEventA(CUevent, const char* name);
void nvtxNameCuEventW(CUevent, const wchar_t* name);
}

#define nvtxNameCuDevice nvtxNameCuDeviceA
#define nvtxNameCuContext nvtxNameCuContextA
#define nvtxNameCuStream nvtxNameCuStreamA
#define nvtxNameCuEvent nvtxNameCuEventA

#endif
