// c10::qint8: the storage of quantized values, 8-bit signed.
#ifndef CUDA_WHEEL_PYTORCH_QINT8_H
#define CUDA_WHEEL_PYTORCH_QINT8_H

#include <cuda_wheel_detail/pytorch/storage_type.h>

CUDA_WHEEL_STORAGE_TYPE(qint8, int8_t, using underlying = int8_t;)

#endif
