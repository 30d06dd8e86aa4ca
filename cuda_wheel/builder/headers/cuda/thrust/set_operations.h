// <thrust/set_operations.h>: Thrust's algorithms.
#include <thrust/detail/cuda_wheel/algorithms.h>
