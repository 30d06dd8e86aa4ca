// c10::quint8: the storage of quantized values, 8-bit unsigned.
#ifndef CUDA_WHEEL_PYTORCH_QUINT8_H
#define CUDA_WHEEL_PYTORCH_QUINT8_H

#include <cuda_wheel_detail/pytorch/storage_type.h>

CUDA_WHEEL_STORAGE_TYPE(quint8, uint8_t, using underlying = uint8_t;)

#endif
