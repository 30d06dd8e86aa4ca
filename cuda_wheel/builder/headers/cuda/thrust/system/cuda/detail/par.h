// <thrust/system/cuda/detail/par.h>: Thrust's execution policies.
#include <thrust/detail/cuda_wheel/policies.h>
