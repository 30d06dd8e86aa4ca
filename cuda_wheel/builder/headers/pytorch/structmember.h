#include <cuda_wheel_detail/pytorch/python.h>
