#include <cuda_wheel_detail/pytorch/errors.h>
