#include <cuda_wheel_detail/pytorch/cuda_context.h>
