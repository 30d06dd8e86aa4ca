#include <cuda_wheel_detail/pytorch/parallel.h>
