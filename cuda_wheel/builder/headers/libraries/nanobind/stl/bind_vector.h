#include <cuda_wheel_detail/libraries/nanobind.h>
