// <thrust/device_ptr.h>: Thrust's pointers.
#include <thrust/detail/cuda_wheel/pointers.h>
