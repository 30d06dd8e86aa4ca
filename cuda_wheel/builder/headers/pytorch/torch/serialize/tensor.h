#include <cuda_wheel_detail/pytorch/serialize.h>
