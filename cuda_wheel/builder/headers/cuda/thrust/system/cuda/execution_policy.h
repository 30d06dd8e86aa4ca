// <thrust/system/cuda/execution_policy.h>: Thrust's execution policies.
#include <thrust/detail/cuda_wheel/policies.h>
#include <thrust/detail/cuda_wheel/algorithms.h>
