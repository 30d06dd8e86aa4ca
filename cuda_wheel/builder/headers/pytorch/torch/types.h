#include <cuda_wheel_detail/pytorch/types.h>
