// <thrust/system_error.h>: Thrust's exceptions.
#include <thrust/detail/cuda_wheel/errors.h>
#include <thrust/detail/cuda_wheel/algorithms.h>
