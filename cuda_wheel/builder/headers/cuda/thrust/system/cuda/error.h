// <thrust/system/cuda/error.h>: Thrust's exceptions.
#include <thrust/detail/cuda_wheel/errors.h>
#include <thrust/detail/cuda_wheel/algorithms.h>
