#include <cuda_wheel_detail/pytorch/metaprogramming.h>
