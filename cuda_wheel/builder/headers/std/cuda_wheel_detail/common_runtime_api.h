// The functions of the CUDA runtime API that most files call, in place of the whole of <cuda_runtime.h>, which takes longer
// to read than a small kernel. NVRTC has their types built in. `rewriting.used_parts` has the same names.
#ifndef CUDA_WHEEL_DETAIL_COMMON_RUNTIME_API_H
#define CUDA_WHEEL_DETAIL_COMMON_RUNTIME_API_H

extern "C" {
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaFree(void*);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int);
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
const char* cudaGetErrorName(cudaError_t);
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaGetLastError();
cudaError_t cudaHostAlloc(void**, size_t, unsigned);
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaMallocHost(void**, size_t);
cudaError_t cudaMallocManaged(void**, size_t, unsigned = 1);
cudaError_t cudaMemGetInfo(size_t*, size_t*);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t = 0);
cudaError_t cudaMemset(void*, int, size_t);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t = 0);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, size_t);
cudaError_t cudaPeekAtLastError();
cudaError_t cudaSetDevice(int);
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0);
}

// As in <cuda_runtime.h>: a call with a kernel instantiates it.
cudaError_t cudaEventCreate(cudaEvent_t*, unsigned);
template <class _T> cudaError_t cudaFuncSetAttribute(_T*, cudaFuncAttribute, int);
template <class _T> cudaError_t cudaFuncSetCacheConfig(_T*, cudaFuncCache);
template <class _T> cudaError_t cudaHostAlloc(_T**, size_t, unsigned);
template <class _T> cudaError_t cudaLaunchCooperativeKernel(_T*, dim3, dim3, void**, size_t = 0, cudaStream_t = 0);
template <class _T> cudaError_t cudaLaunchKernel(_T*, dim3, dim3, void**, size_t = 0, cudaStream_t = 0);
template <class _T> cudaError_t cudaMalloc(_T**, size_t);
cudaError_t cudaMallocHost(void**, size_t, unsigned);
template <class _T> cudaError_t cudaMallocHost(_T**, size_t, unsigned = 0);
template <class _T> cudaError_t cudaMallocManaged(_T**, size_t, unsigned = 1);
template <class _T> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, _T, int, size_t);
template <class _T> cudaError_t cudaOccupancyMaxPotentialBlockSize(int*, int*, _T, size_t = 0, int = 0);

#endif
