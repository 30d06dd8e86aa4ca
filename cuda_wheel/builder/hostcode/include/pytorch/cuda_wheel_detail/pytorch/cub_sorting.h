// at::cuda::cub: CUB's algorithms as PyTorch's own library has compiled them; a caller instantiates no kernel.
#ifndef CUDA_WHEEL_PYTORCH_CUB_SORTING_H
#define CUDA_WHEEL_PYTORCH_CUB_SORTING_H

#include <cuda_wheel_detail/pytorch/cuda_context.h>

namespace at {
namespace cuda {
namespace cub {
template <class K, class V>
void radix_sort_pairs(const K* keys_in, K* keys_out, const V* values_in, V* values_out, int64_t n, bool descending = false,
                      int64_t begin_bit = 0, int64_t end_bit = sizeof(K) * 8);
template <class K>
void radix_sort_keys(const K* keys_in, K* keys_out, int64_t n, bool descending = false, int64_t begin_bit = 0,
                     int64_t end_bit = sizeof(K) * 8);
template <class In, class Out>
void inclusive_sum_truncating(const In* input, Out* output, int64_t n);
template <class T>
void exclusive_sum_in_common_type(const T* input, T* output, int64_t n);
void mask_exclusive_sum(const uint8_t* mask, int64_t* output, int64_t n);
void mask_exclusive_sum(const bool* mask, int64_t* output, int64_t n);
} // namespace cub
} // namespace cuda
} // namespace at

#endif
