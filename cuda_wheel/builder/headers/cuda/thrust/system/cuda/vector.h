// <thrust/system/cuda/vector.h>: Thrust's vectors.
#include <thrust/detail/cuda_wheel/vectors.h>
#include <thrust/detail/cuda_wheel/algorithms.h>
