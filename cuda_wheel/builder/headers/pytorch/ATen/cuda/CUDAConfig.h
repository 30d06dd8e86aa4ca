// The libraries that PyTorch's releases for CUDA are built with. Its releases without CUDA lack this header, and device code
// compiles beside them too.
#ifndef CUDA_WHEEL_PYTORCH_CUDA_CONFIG_H
#define CUDA_WHEEL_PYTORCH_CUDA_CONFIG_H

#define AT_ROCM_ENABLED() 0
#define AT_MAGMA_ENABLED() 1
#define AT_CUDNN_ENABLED() 1
#define AT_HIPSPARSELT_ENABLED() 0
#define AT_CUSPARSELT_ENABLED() 1

#endif
