// What <torch/all.h> and <torch/torch.h> declare: ATen, autograd, registration, threads, functions of neural networks.
#ifndef CUDA_WHEEL_PYTORCH_ALL_H
#define CUDA_WHEEL_PYTORCH_ALL_H

#include <cuda_wheel_detail/pytorch/aten.h>
#ifndef CUDA_WHEEL_WITHOUT_AUTOGRAD
#include <cuda_wheel_detail/pytorch/autograd.h>
#endif
#ifndef CUDA_WHEEL_WITHOUT_LIBRARY
#include <cuda_wheel_detail/pytorch/library.h>
#endif
#ifndef CUDA_WHEEL_WITHOUT_NEURAL_NETWORKS
#include <cuda_wheel_detail/pytorch/neural_networks.h>
#endif
#include <cuda_wheel_detail/pytorch/parallel.h>
#ifndef CUDA_WHEEL_WITHOUT_SERIALIZATION
#include <cuda_wheel_detail/pytorch/serialize.h>
#endif
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
