#include <cuda_wheel_detail/pytorch/jitted_code.h>
