// What <torch/all.h> and <torch/torch.h> declare: ATen, autograd, registration, threads, functions of neural networks.
#ifndef CUDA_WHEEL_PYTORCH_ALL_H
#define CUDA_WHEEL_PYTORCH_ALL_H

#include <cuda_wheel_detail/pytorch/aten.h>
#include <cuda_wheel_detail/pytorch/autograd.h>
#include <cuda_wheel_detail/pytorch/library.h>
#include <cuda_wheel_detail/pytorch/neural_networks.h>
#include <cuda_wheel_detail/pytorch/parallel.h>
#include <cuda_wheel_detail/pytorch/serialize.h>
#include <cuda_wheel_detail/pytorch/version.h>

namespace torch {
namespace cuda {
size_t device_count();
bool is_available();
bool cudnn_is_available();
void manual_seed(uint64_t);
void manual_seed_all(uint64_t);
void synchronize(int64_t device_index = -1);
} // namespace cuda
using at::manual_seed;
int get_num_threads();
void set_num_threads(int);
} // namespace torch

#endif
