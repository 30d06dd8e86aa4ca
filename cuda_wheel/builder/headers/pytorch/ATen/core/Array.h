// at::detail::Array: a fixed number of values that device code can index.
#ifndef CUDA_WHEEL_PYTORCH_ARRAY_H
#define CUDA_WHEEL_PYTORCH_ARRAY_H

#include <c10/macros/Macros.h>

namespace at {
namespace detail {

template <typename T, int size_>
struct Array {
  T data[size_];

  Array() = default;
  C10_HOST_DEVICE Array(T x) {
    for (int i = 0; i < size_; i++) data[i] = x;
  }
  C10_HOST_DEVICE T operator[](int i) const { return data[i]; }
  C10_HOST_DEVICE T& operator[](int i) { return data[i]; }
  static constexpr int size() { return size_; }
};

}
}

#endif
