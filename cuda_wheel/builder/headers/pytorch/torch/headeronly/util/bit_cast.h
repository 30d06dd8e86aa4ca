// bit_cast: the same bits as another type. As std::bit_cast of C++20, in C++17 too.
#ifndef CUDA_WHEEL_PYTORCH_BIT_CAST_H
#define CUDA_WHEEL_PYTORCH_BIT_CAST_H

#include <cstring>
#include <type_traits>
#include <torch/headeronly/macros/Macros.h>

namespace torch {
namespace headeronly {

template <class To, class From>
C10_HOST_DEVICE constexpr std::enable_if_t<sizeof(To) == sizeof(From) && std::is_trivially_copyable<From>::value &&
                                               std::is_trivially_copyable<To>::value,
                                           To>
bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

}
}

namespace c10 {
using torch::headeronly::bit_cast;
}

#endif
