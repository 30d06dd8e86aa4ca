// <thrust/transform_reduce.h>: Thrust's algorithms.
#include <thrust/detail/cuda_wheel/algorithms.h>
