// c10::Float4_e2m1fn_x2: two numbers of 4 bits in a byte. It has no arithmetic.
#ifndef CUDA_WHEEL_PYTORCH_FLOAT4_E2M1FN_X2_H
#define CUDA_WHEEL_PYTORCH_FLOAT4_E2M1FN_X2_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>

namespace c10 {
struct alignas(1) Float4_e2m1fn_x2 {
  uint8_t val_;
  Float4_e2m1fn_x2() = default;
  C10_HOST_DEVICE explicit Float4_e2m1fn_x2(uint8_t value) : val_(value) {}
};
inline C10_HOST_DEVICE bool operator==(const Float4_e2m1fn_x2& a, const Float4_e2m1fn_x2& b) { return a.val_ == b.val_; }
inline C10_HOST_DEVICE bool operator!=(const Float4_e2m1fn_x2& a, const Float4_e2m1fn_x2& b) { return a.val_ != b.val_; }
}

namespace torch {
namespace headeronly {
using c10::Float4_e2m1fn_x2;
using c10::operator==;
using c10::operator!=;
}
}

#endif
