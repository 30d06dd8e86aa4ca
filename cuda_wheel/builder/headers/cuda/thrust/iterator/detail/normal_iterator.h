// <thrust/iterator/detail/normal_iterator.h>: Thrust's pointers.
#include <thrust/detail/cuda_wheel/pointers.h>
