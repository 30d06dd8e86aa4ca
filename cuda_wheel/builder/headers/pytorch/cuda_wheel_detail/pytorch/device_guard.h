// at::device_of and the guards of devices, by the names of at:: and torch::.
#ifndef CUDA_WHEEL_PYTORCH_DEVICE_GUARD_H
#define CUDA_WHEEL_PYTORCH_DEVICE_GUARD_H

#include <cuda_wheel_detail/pytorch/tensor.h>

namespace at {
std::optional<c10::Device> device_of(const Tensor&);
std::optional<c10::Device> device_of(const std::optional<Tensor>&);
std::optional<c10::Device> device_of(TensorList);
using c10::DeviceGuard;
using c10::OptionalDeviceGuard;
} // namespace at

namespace torch {
using c10::DeviceGuard;
using c10::OptionalDeviceGuard;
} // namespace torch

#endif
