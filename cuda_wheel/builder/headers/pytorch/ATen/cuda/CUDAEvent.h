#include <cuda_wheel_detail/pytorch/cuda_streams.h>
