// <thrust/universal_allocator.h>: Thrust's vectors.
#include <thrust/detail/cuda_wheel/vectors.h>
