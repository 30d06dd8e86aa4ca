// <thrust/device_reference.h>: Thrust's pointers.
#include <thrust/detail/cuda_wheel/pointers.h>
