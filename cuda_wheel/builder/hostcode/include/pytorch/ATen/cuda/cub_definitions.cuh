// Which release of CUB PyTorch's headers find.
#ifndef CUDA_WHEEL_PYTORCH_CUB_DEFINITIONS_CUH
#define CUDA_WHEEL_PYTORCH_CUB_DEFINITIONS_CUH

#include <cub/version.cuh>
#include <cuda.h>

#if defined(CUB_WRAPPED_NAMESPACE) || defined(THRUST_CUB_WRAPPED_NAMESPACE)
#define USE_GLOBAL_CUB_WRAPPED_NAMESPACE() true
#else
#define USE_GLOBAL_CUB_WRAPPED_NAMESPACE() false
#endif
#if CUB_VERSION >= 200800
#define CUB_V3_PLUS() true
#else
#define CUB_V3_PLUS() false
#endif

#endif
