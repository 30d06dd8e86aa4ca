// What <torch/types.h> declares: tensors with their operators, autograd, registration.
#ifndef CUDA_WHEEL_PYTORCH_TYPES_H
#define CUDA_WHEEL_PYTORCH_TYPES_H

#include <cuda_wheel_detail/pytorch/aten.h>
#ifndef CUDA_WHEEL_WITHOUT_AUTOGRAD
#include <cuda_wheel_detail/pytorch/autograd.h>
#endif
#ifndef CUDA_WHEEL_WITHOUT_LIBRARY
#include <cuda_wheel_detail/pytorch/library.h>
#endif

#endif
