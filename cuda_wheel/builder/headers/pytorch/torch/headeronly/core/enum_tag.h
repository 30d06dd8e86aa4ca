#include <cuda_wheel_detail/pytorch/tag.h>
