// The release of PyTorch whose interface these headers declare.
#ifndef CUDA_WHEEL_PYTORCH_VERSION_H
#define CUDA_WHEEL_PYTORCH_VERSION_H

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 11
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.11.0"
#define TORCH_ABI_VERSION 0x020b000000000000ULL

#endif
