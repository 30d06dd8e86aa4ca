// What <ATen/ATen.h> declares.
#ifndef CUDA_WHEEL_PYTORCH_ATEN_H
#define CUDA_WHEEL_PYTORCH_ATEN_H

#include <cuda_wheel_detail/pytorch/context.h>
#include <cuda_wheel_detail/pytorch/device_guard.h>
#include <cuda_wheel_detail/pytorch/dispatch.h>
#include <cuda_wheel_detail/pytorch/operators.h>
#include <cuda_wheel_detail/pytorch/standard_library.h>
#include <cuda_wheel_detail/pytorch/tensor_checks.h>

#endif
