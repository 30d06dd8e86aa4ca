// c10::quint2x4: the storage of quantized values, four 2-bit unsigned.
#ifndef CUDA_WHEEL_PYTORCH_QUINT2X4_H
#define CUDA_WHEEL_PYTORCH_QUINT2X4_H

#include <cuda_wheel_detail/pytorch/storage_type.h>

CUDA_WHEEL_STORAGE_TYPE(quint2x4, uint8_t, using underlying = uint8_t;)

#endif
