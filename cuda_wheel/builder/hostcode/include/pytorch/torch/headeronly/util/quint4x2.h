// c10::quint4x2: the storage of quantized values, two 4-bit unsigned.
#ifndef CUDA_WHEEL_PYTORCH_QUINT4X2_H
#define CUDA_WHEEL_PYTORCH_QUINT4X2_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>

namespace c10 {
struct alignas(1) quint4x2 {
  using underlying = uint8_t;
  uint8_t val_;
  quint4x2() = default;
  C10_HOST_DEVICE explicit quint4x2(uint8_t value) : val_(value) {}
};
}

namespace torch {
namespace headeronly {
using c10::quint4x2;
}
}

#endif
