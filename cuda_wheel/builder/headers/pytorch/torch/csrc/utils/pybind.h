#include <cuda_wheel_detail/pytorch/extension.h>
