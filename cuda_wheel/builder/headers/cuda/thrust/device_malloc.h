// <thrust/device_malloc.h>: Thrust's pointers.
#include <thrust/detail/cuda_wheel/pointers.h>
