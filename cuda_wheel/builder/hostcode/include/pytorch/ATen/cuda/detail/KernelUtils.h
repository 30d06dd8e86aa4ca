// CUDA_KERNEL_LOOP, a loop over n elements by all threads of a grid, and GET_BLOCKS, a grid for it.
#ifndef CUDA_WHEEL_PYTORCH_KERNEL_UTILS_H
#define CUDA_WHEEL_PYTORCH_KERNEL_UTILS_H

#include <c10/macros/Macros.h>
#include <cstdint>
#include <limits>

// The index is kept in 64 bits, so that it does not overflow at the end of the loop.
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                           \
  int64_t _i_n_d_e_x = ((int64_t)blockIdx.x) * blockDim.x + threadIdx.x;  \
  for (index_type i = _i_n_d_e_x; _i_n_d_e_x < (n); _i_n_d_e_x += blockDim.x * gridDim.x, i = _i_n_d_e_x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)

namespace at {
namespace cuda {
namespace detail {

constexpr int CUDA_NUM_THREADS = 1024;

int GET_BLOCKS(const int64_t N, const int64_t max_threads_per_block = CUDA_NUM_THREADS);

}
}
}

#endif
