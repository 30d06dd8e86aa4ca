#include <cuda_wheel_detail/pytorch/record_function.h>
