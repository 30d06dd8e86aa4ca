// c10::Float4_e2m1fn_x2: two numbers of 4 bits in a byte. It has no arithmetic.
#ifndef CUDA_WHEEL_PYTORCH_FLOAT4_E2M1FN_X2_H
#define CUDA_WHEEL_PYTORCH_FLOAT4_E2M1FN_X2_H

#include <cuda_wheel_detail/pytorch/storage_type.h>

CUDA_WHEEL_STORAGE_TYPE(Float4_e2m1fn_x2, uint8_t, )

namespace c10 {
C10_HOST_DEVICE inline bool operator==(const Float4_e2m1fn_x2& x, const Float4_e2m1fn_x2& y) { return x.val_ == y.val_; }
C10_HOST_DEVICE inline bool operator!=(const Float4_e2m1fn_x2& x, const Float4_e2m1fn_x2& y) { return !(x == y); }
}

namespace torch {
namespace headeronly {
using c10::operator==;
using c10::operator!=;
}
}

#endif
