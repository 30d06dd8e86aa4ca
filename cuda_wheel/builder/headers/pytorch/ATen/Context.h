#include <cuda_wheel_detail/pytorch/context.h>
