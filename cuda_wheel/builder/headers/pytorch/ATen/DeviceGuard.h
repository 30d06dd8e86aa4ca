#include <cuda_wheel_detail/pytorch/device_guard.h>
