// c10::qint8: the storage of quantized values, 8-bit signed.
#ifndef CUDA_WHEEL_PYTORCH_QINT8_H
#define CUDA_WHEEL_PYTORCH_QINT8_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>

namespace c10 {
struct alignas(1) qint8 {
  using underlying = int8_t;
  int8_t val_;
  qint8() = default;
  C10_HOST_DEVICE explicit qint8(int8_t value) : val_(value) {}
};
}

namespace torch {
namespace headeronly {
using c10::qint8;
}
}

#endif
