// c10::bits8 and kin: bits that PyTorch does not interpret.
#ifndef CUDA_WHEEL_PYTORCH_BITS_H
#define CUDA_WHEEL_PYTORCH_BITS_H

#include <cuda_wheel_detail/pytorch/storage_type.h>

CUDA_WHEEL_STORAGE_TYPE(bits1x8, uint8_t, using underlying = uint8_t;)
CUDA_WHEEL_STORAGE_TYPE(bits2x4, uint8_t, using underlying = uint8_t;)
CUDA_WHEEL_STORAGE_TYPE(bits4x2, uint8_t, using underlying = uint8_t;)
CUDA_WHEEL_STORAGE_TYPE(bits8, uint8_t, )
CUDA_WHEEL_STORAGE_TYPE(bits16, uint16_t, )

#endif
