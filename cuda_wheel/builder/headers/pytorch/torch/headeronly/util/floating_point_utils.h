// The bits of a float, and the float of bits.
#ifndef CUDA_WHEEL_PYTORCH_FLOATING_POINT_UTILS_H
#define CUDA_WHEEL_PYTORCH_FLOATING_POINT_UTILS_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/bit_cast.h>

namespace torch {
namespace headeronly {
namespace detail {

C10_HOST_DEVICE inline float fp32_from_bits(uint32_t bits) { return __uint_as_float(bits); }
C10_HOST_DEVICE inline uint32_t fp32_to_bits(float value) { return __float_as_uint(value); }

}
}
}

namespace c10 {
namespace detail {
using torch::headeronly::detail::fp32_from_bits;
using torch::headeronly::detail::fp32_to_bits;
}
}

#endif
