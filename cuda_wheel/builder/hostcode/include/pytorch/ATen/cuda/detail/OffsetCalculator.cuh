// OffsetCalculator: the offsets of an element in several strided tensors, from its linear index.
#ifndef CUDA_WHEEL_PYTORCH_OFFSET_CALCULATOR_CUH
#define CUDA_WHEEL_PYTORCH_OFFSET_CALCULATOR_CUH

#include <ATen/cuda/detail/IntegerDivider.cuh>
#include <array>
#include <c10/macros/Macros.h>
#include <cstdint>
#include <type_traits>

namespace at {
struct TensorIteratorBase;
}

constexpr int MAX_DIMS = 25;

template <int NARGS, typename index_t = uint32_t, bool signed_strides = false>
struct OffsetCalculator {
  using stride_t = std::conditional_t<signed_strides, std::make_signed_t<index_t>, index_t>;
  using offset_type = std::array<stride_t, (NARGS > 1 ? NARGS : 1)>;

  OffsetCalculator(int dims, const int64_t* sizes, const int64_t* const* strides,
                   const int64_t* element_sizes = nullptr);

  C10_HOST_DEVICE offset_type get(index_t linear_idx) const {
    offset_type offsets;
#pragma unroll
    for (int arg = 0; arg < NARGS; arg++) offsets[arg] = 0;
#pragma unroll
    for (int dim = 0; dim < MAX_DIMS; ++dim) {
      if (dim == dims) break;
      const auto divided = sizes_[dim].divmod(linear_idx);
      linear_idx = divided.div;
#pragma unroll
      for (int arg = 0; arg < NARGS; arg++) offsets[arg] += divided.mod * strides_[dim][arg];
    }
    return offsets;
  }

  int dims;
  at::cuda::detail::IntDivider<index_t> sizes_[MAX_DIMS];
  stride_t strides_[MAX_DIMS][(NARGS > 1 ? NARGS : 1)];
};

template <int NARGS, typename index_t = uint32_t>
struct TrivialOffsetCalculator {
  using offset_type = std::array<index_t, (NARGS > 1 ? NARGS : 1)>;

  C10_HOST_DEVICE offset_type get(index_t linear_idx) const {
    offset_type offsets;
#pragma unroll
    for (int arg = 0; arg < NARGS; arg++) offsets[arg] = linear_idx;
    return offsets;
  }
};

template <int N, bool signed_strides = false>
OffsetCalculator<N, uint32_t, signed_strides> make_offset_calculator(const at::TensorIteratorBase& iter);
template <int N, bool signed_strides = false>
OffsetCalculator<N, uint32_t, signed_strides> make_element_offset_calculator(const at::TensorIteratorBase& iter);

#endif
