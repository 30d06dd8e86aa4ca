#include <cuda_wheel_detail/pytorch/device_assertions.h>
