// <nvtx3/nvToolsExtCudaRt.h>: NVTX's functions that name the runtime API's objects.
#ifndef NVTOOLSEXT_CUDART_V3
#define NVTOOLSEXT_CUDART_V3

#include <driver_types.h>
#include <nvtx3/nvToolsExt.h>

extern "C" {
void nvtxNameCudaDeviceA(int device, const char* name);
void nvtxNameCudaDeviceW(int device, const wchar_t* name);
void nvtxNameCudaStreamA(cudaStream_t, const char* name);
void nvtxNameCudaStreamW(cudaStream_t, const wchar_t* name);
void nvtxNameCudaEventA(cudaEvent_t, const char* name);
void nvtxNameCudaEventW(cudaEvent_t, const wchar_t* name);
}

#define nvtxNameCudaDevice nvtxNameCudaDeviceA
#define nvtxNameCudaStream nvtxNameCudaStreamA
#define nvtxNameCudaEvent nvtxNameCudaEventA

#endif
