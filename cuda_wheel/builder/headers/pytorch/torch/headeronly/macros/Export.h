// PyTorch's export macros. Nothing is exported from device code, so each is empty.
#ifndef CUDA_WHEEL_PYTORCH_EXPORT_H
#define CUDA_WHEEL_PYTORCH_EXPORT_H

#define C10_HIDDEN
#define C10_EXPORT
#define C10_IMPORT
#define C10_API
#define C10_API_ENUM
#define TORCH_API
#define TORCH_CUDA_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define TORCH_XPU_API

#endif
