#include <cuda_wheel_detail/pytorch/aten.h>
