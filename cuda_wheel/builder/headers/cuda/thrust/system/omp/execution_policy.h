// <thrust/system/omp/execution_policy.h>: Thrust's execution policies.
#include <thrust/detail/cuda_wheel/policies.h>
