#include <cuda_wheel_detail/pytorch/all.h>
