// <thrust/iterator/detail/device_system_tag.h>: Thrust's execution policies.
#include <thrust/detail/cuda_wheel/policies.h>
