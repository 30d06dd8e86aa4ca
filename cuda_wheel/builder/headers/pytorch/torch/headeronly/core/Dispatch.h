#include <cuda_wheel_detail/pytorch/dispatch.h>
