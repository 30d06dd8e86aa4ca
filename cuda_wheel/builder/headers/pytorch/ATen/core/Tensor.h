#include <cuda_wheel_detail/pytorch/tensor.h>
