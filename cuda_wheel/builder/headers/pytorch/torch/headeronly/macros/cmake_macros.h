// The configuration of PyTorch's released builds.
#ifndef CUDA_WHEEL_PYTORCH_CMAKE_MACROS_H
#define CUDA_WHEEL_PYTORCH_CMAKE_MACROS_H

#define C10_BUILD_SHARED_LIBS

#endif
