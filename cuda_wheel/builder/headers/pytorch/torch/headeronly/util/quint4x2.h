// c10::quint4x2: the storage of quantized values, two 4-bit unsigned.
#ifndef CUDA_WHEEL_PYTORCH_QUINT4X2_H
#define CUDA_WHEEL_PYTORCH_QUINT4X2_H

#include <cuda_wheel_detail/pytorch/storage_type.h>

CUDA_WHEEL_STORAGE_TYPE(quint4x2, uint8_t, using underlying = uint8_t;)

#endif
