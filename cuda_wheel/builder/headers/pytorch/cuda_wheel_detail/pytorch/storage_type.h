// Types that hold a number or bits of tensors and have no arithmetic, in c10 and in torch::headeronly.
#ifndef CUDA_WHEEL_PYTORCH_STORAGE_TYPE_H
#define CUDA_WHEEL_PYTORCH_STORAGE_TYPE_H

#include <cstdint>
#include <torch/headeronly/macros/Macros.h>

// `members` are further ones.
#define CUDA_WHEEL_STORAGE_TYPE(name, storage, members)      \
  namespace c10 {                                            \
  struct alignas(sizeof(storage)) name {                     \
    storage val_;                                            \
    members name() = default;                                \
    explicit C10_HOST_DEVICE name(storage of) : val_(of) {}  \
  };                                                         \
  }                                                          \
  namespace torch {                                          \
  namespace headeronly {                                     \
  using c10::name;                                           \
  }                                                          \
  }

#endif
