#include <cuda_wheel_detail/pytorch/scalar_types.h>
