#include <cuda_wheel_detail/pytorch/operators.h>
