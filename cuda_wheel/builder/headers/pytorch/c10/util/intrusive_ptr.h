#include <cuda_wheel_detail/pytorch/containers.h>
