// <thrust/device_new.h>: Thrust's pointers.
#include <thrust/detail/cuda_wheel/pointers.h>
