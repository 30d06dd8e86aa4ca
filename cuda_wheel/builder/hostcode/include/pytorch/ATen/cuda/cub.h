#include <cuda_wheel_detail/pytorch/cub_sorting.h>
