// <thrust/system/omp/detail/execution_policy.h>: Thrust's execution policies.
#include <thrust/detail/cuda_wheel/policies.h>
