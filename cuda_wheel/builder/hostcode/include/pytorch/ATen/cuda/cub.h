// <ATen/cuda/cub.h>: PyTorch's own uses of CUB, whose kernels are in PyTorch. Extensions include it for CUB's release.
#ifndef CUDA_WHEEL_PYTORCH_CUB_H
#define CUDA_WHEEL_PYTORCH_CUB_H

#include <ATen/cuda/CUDAContext.h>
#include <cstdint>

namespace at {
namespace cuda {
namespace cub {

int get_num_bits(uint64_t max_key);
template <typename input_t, typename output_t>
void inclusive_sum_truncating(const input_t* input, output_t* output, int64_t n);
template <typename scalar_t>
void inclusive_sum(const scalar_t* input, scalar_t* output, int64_t n);
template <typename input_t, typename output_t>
void exclusive_sum_in_common_type(const input_t* input, output_t* output, int64_t n);
template <typename scalar_t>
void exclusive_sum(const scalar_t* input, scalar_t* output, int64_t n);
template <typename key_t>
void radix_sort_keys(const key_t* keys_in, key_t* keys_out, int64_t n, bool descending = false, int64_t begin_bit = 0,
                     int64_t end_bit = sizeof(key_t) * 8);
template <typename key_t, typename value_t>
void radix_sort_pairs(const key_t* keys_in, key_t* keys_out, const value_t* values_in, value_t* values_out, int64_t n,
                      bool descending = false, int64_t begin_bit = 0, int64_t end_bit = sizeof(key_t) * 8);

}
}
}

#endif
