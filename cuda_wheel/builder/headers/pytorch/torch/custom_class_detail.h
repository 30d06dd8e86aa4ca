#include <cuda_wheel_detail/pytorch/ivalue.h>
