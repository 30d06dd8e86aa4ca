// c10::bits8 and kin: bits that PyTorch does not interpret.
#ifndef CUDA_WHEEL_PYTORCH_BITS_H
#define CUDA_WHEEL_PYTORCH_BITS_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>

namespace c10 {
#define CUDA_WHEEL_BITS(name, alignment, storage, more)      \
  struct alignas(alignment) name {                           \
    more storage val_;                                       \
    name() = default;                                        \
    C10_HOST_DEVICE explicit name(storage value) : val_(value) {} \
  };
CUDA_WHEEL_BITS(bits1x8, 1, uint8_t, using underlying = uint8_t;)
CUDA_WHEEL_BITS(bits2x4, 1, uint8_t, using underlying = uint8_t;)
CUDA_WHEEL_BITS(bits4x2, 1, uint8_t, using underlying = uint8_t;)
CUDA_WHEEL_BITS(bits8, 1, uint8_t, )
CUDA_WHEEL_BITS(bits16, 2, uint16_t, )
#undef CUDA_WHEEL_BITS
}

namespace torch {
namespace headeronly {
using c10::bits16;
using c10::bits1x8;
using c10::bits2x4;
using c10::bits4x2;
using c10::bits8;
}
}

#endif
