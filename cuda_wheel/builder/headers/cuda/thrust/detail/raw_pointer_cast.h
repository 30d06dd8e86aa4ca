// <thrust/detail/raw_pointer_cast.h>: Thrust's pointers.
#include <thrust/detail/cuda_wheel/pointers.h>
