#include <cuda_wheel_detail/pytorch/cuda_errors.h>
