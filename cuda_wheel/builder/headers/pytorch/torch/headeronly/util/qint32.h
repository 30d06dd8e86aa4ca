// c10::qint32: the storage of quantized values, 32-bit signed.
#ifndef CUDA_WHEEL_PYTORCH_QINT32_H
#define CUDA_WHEEL_PYTORCH_QINT32_H

#include <cuda_wheel_detail/pytorch/storage_type.h>

CUDA_WHEEL_STORAGE_TYPE(qint32, int32_t, using underlying = int32_t;)

#endif
