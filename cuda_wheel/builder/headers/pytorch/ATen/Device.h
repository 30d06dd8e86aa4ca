#include <cuda_wheel_detail/pytorch/tensor_options.h>
