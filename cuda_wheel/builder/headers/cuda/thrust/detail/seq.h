// <thrust/detail/seq.h>: Thrust's execution policies.
#include <thrust/detail/cuda_wheel/policies.h>
