// c10::quint2x4: the storage of quantized values, four 2-bit unsigned.
#ifndef CUDA_WHEEL_PYTORCH_QUINT2X4_H
#define CUDA_WHEEL_PYTORCH_QUINT2X4_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>

namespace c10 {
struct alignas(1) quint2x4 {
  using underlying = uint8_t;
  uint8_t val_;
  quint2x4() = default;
  C10_HOST_DEVICE explicit quint2x4(uint8_t value) : val_(value) {}
};
}

namespace torch {
namespace headeronly {
using c10::quint2x4;
}
}

#endif
