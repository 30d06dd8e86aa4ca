// at::cuda: the properties of devices, and the handles of CUDA's libraries.
#ifndef CUDA_WHEEL_PYTORCH_CUDA_CONTEXT_H
#define CUDA_WHEEL_PYTORCH_CUDA_CONTEXT_H

#ifndef CUDA_WHEEL_WITHOUT_LIBRARIES
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <cusparse.h>
#endif

#include <cuda_wheel_detail/pytorch/cuda_streams.h>

namespace at {
namespace cuda {
int64_t getNumGPUs();
bool is_available();
cudaDeviceProp* getCurrentDeviceProperties();
cudaDeviceProp* getDeviceProperties(c10::DeviceIndex);
int warp_size();
bool canDeviceAccessPeer(c10::DeviceIndex, c10::DeviceIndex);
c10::Allocator* getCUDADeviceAllocator();
c10::Allocator* getPinnedMemoryAllocator();
#ifndef CUDA_WHEEL_WITHOUT_LIBRARIES
cublasHandle_t getCurrentCUDABlasHandle();
cublasLtHandle_t getCurrentCUDABlasLtHandle();
cusparseHandle_t getCurrentCUDASparseHandle();
cusolverDnHandle_t getCurrentCUDASolverDnHandle();
#endif
size_t getChosenWorkspaceSize();
size_t getCUDABlasLtWorkspaceSize();
void* getCUDABlasLtWorkspace();

namespace blas {
template <class T, class... Args>
void gemm(Args...);
template <class T, class... Args>
void bgemm(Args...);
template <class T, class... Args>
void gemv(Args...);
} // namespace blas
} // namespace cuda
} // namespace at

#endif
