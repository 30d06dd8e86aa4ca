#include <cuda_wheel_detail/pytorch/stable.h>
