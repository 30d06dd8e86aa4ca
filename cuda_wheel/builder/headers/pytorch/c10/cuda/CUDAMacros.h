// The macros of libc10_cuda. Nothing is exported from device code, so the export macros are empty.
#ifndef CUDA_WHEEL_PYTORCH_CUDA_MACROS_H
#define CUDA_WHEEL_PYTORCH_CUDA_MACROS_H

#define C10_CUDA_EXPORT
#define C10_CUDA_IMPORT
#define C10_CUDA_API
#define C10_COMPILE_TIME_MAX_GPUS 120

#endif
