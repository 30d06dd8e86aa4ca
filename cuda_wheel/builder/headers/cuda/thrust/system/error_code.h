// <thrust/system/error_code.h>: Thrust's exceptions.
#include <thrust/detail/cuda_wheel/errors.h>
