// GPU_LAMBDA, and how many threads and elements the elementwise kernels of PyTorch have.
#ifndef CUDA_WHEEL_PYTORCH_THREAD_CONSTANTS_H
#define CUDA_WHEEL_PYTORCH_THREAD_CONSTANTS_H

#include <c10/macros/Macros.h>

#ifndef GPU_LAMBDA
#define GPU_LAMBDA __host__ __device__
#endif

constexpr uint32_t num_threads() { return C10_WARP_SIZE * 4; }
constexpr int thread_work_size() { return 8; }
constexpr int block_work_size() { return thread_work_size() * num_threads(); }

#endif
