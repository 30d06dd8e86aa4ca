#include <cuda_wheel_detail/pytorch/library.h>
