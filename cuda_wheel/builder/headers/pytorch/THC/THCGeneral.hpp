#include <cuda_wheel_detail/pytorch/thc.h>
