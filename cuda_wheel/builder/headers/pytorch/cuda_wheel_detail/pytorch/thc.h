// THC, which PyTorch 1.11 removed: the state, memory, and the check of errors.
#ifndef CUDA_WHEEL_PYTORCH_THC_H
#define CUDA_WHEEL_PYTORCH_THC_H

#include <cuda_wheel_detail/pytorch/cuda_context.h>

struct THCState;
extern THCState* state;
cudaStream_t THCState_getCurrentStream(THCState*);
cudaStream_t THCState_getCurrentStreamOnDevice(THCState*, int);
cublasHandle_t THCState_getCurrentBlasHandle(THCState*);
cudaDeviceProp* THCState_getCurrentDeviceProperties(THCState*);
cudaDeviceProp* THCState_getDeviceProperties(THCState*, int);
void* THCudaMalloc(THCState*, size_t);
void THCudaFree(THCState*, void*);
void THCudaMemGetInfo(THCState*, size_t* free, size_t* total);
void THCudaInit(THCState*);
#define THCudaCheck(EXPR) CUDA_WHEEL_PYTORCH_REQUIRE(EXPR)
#define THCudaCheckWarn(EXPR) CUDA_WHEEL_PYTORCH_REQUIRE(EXPR)
#define THCublasCheck(EXPR) CUDA_WHEEL_PYTORCH_STATUS(EXPR)
#define THCusparseCheck(EXPR) CUDA_WHEEL_PYTORCH_STATUS(EXPR)
#define THError(...) ::c10::detail::torchCheckFail(__VA_ARGS__)
#define THArgCheck(cond, ...) TORCH_CHECK(cond, ##__VA_ARGS__)
#define THAssert(cond) TORCH_CHECK(cond)
#define THC_API extern "C"

namespace at {
namespace cuda {
THCState* getTHCState();
}
} // namespace at

#endif
