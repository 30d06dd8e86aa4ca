#include <cuda_wheel_detail/pytorch/autograd.h>
