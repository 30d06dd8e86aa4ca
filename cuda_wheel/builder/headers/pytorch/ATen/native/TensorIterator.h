#include <cuda_wheel_detail/pytorch/tensor_iterator.h>
