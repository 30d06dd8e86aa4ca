#include <cuda_wheel_detail/pytorch/version.h>
