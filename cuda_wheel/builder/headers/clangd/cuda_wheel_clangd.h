// Included before each source that clangd reads, by the files of `cuda-wheel ide`: declares what nvcc declares.
// clang's own wrapper of CUDA's headers does most; the rest follows. Only clangd reads this header.

// Cooperative groups have clusters only for compilers that say so; clang has the functions from compute capability 9.0 on.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define _CG_CLUSTER_INTRINSICS_AVAILABLE
#endif

// The host's <assert.h> declares __assert_fail, which the stand-ins for PyTorch's headers define for NVRTC.
#define CUDA_WHEEL_ASSERT_FAIL

#include <__clang_cuda_runtime_wrapper.h>

// clang checks the configuration of a launch, <<<...>>>, against this function where it knows no CUDA installation.
extern "C" cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared_memory = 0, cudaStream_t stream = 0);
