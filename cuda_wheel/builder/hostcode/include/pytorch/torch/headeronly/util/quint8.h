// c10::quint8: the storage of quantized values, 8-bit unsigned.
#ifndef CUDA_WHEEL_PYTORCH_QUINT8_H
#define CUDA_WHEEL_PYTORCH_QUINT8_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>

namespace c10 {
struct alignas(1) quint8 {
  using underlying = uint8_t;
  uint8_t val_;
  quint8() = default;
  C10_HOST_DEVICE explicit quint8(uint8_t value) : val_(value) {}
};
}

namespace torch {
namespace headeronly {
using c10::quint8;
}
}

#endif
