// What <torch/types.h> declares: tensors with their operators, autograd, registration.
#ifndef CUDA_WHEEL_PYTORCH_TYPES_H
#define CUDA_WHEEL_PYTORCH_TYPES_H

#include <cuda_wheel_detail/pytorch/aten.h>
#include <cuda_wheel_detail/pytorch/autograd.h>
#include <cuda_wheel_detail/pytorch/library.h>

#endif
