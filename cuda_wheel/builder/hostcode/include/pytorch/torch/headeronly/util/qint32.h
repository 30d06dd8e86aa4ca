// c10::qint32: the storage of quantized values, 32-bit signed.
#ifndef CUDA_WHEEL_PYTORCH_QINT32_H
#define CUDA_WHEEL_PYTORCH_QINT32_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>

namespace c10 {
struct alignas(4) qint32 {
  using underlying = int32_t;
  int32_t val_;
  qint32() = default;
  C10_HOST_DEVICE explicit qint32(int32_t value) : val_(value) {}
};
}

namespace torch {
namespace headeronly {
using c10::qint32;
}
}

#endif
